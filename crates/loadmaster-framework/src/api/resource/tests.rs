use proptest::prelude::*;

use super::*;
use crate::api::Quantity;

fn list(json: &str) -> ResourceList {
    serde_json::from_str(json).unwrap()
}

fn resource(json: &str) -> Resource {
    Resource::from_resource_list(&list(json))
}

#[test]
fn amounts_go_to_their_slots_rounded_up_and_unknown_names_go_nowhere() {
    let it = resource(
        r#"{"cpu":"1.0001","memory":"1500m","ephemeral-storage":"1Gi","pods":110,
            "example.com/gpu":"2","hugepages-2Mi":"4Mi","attachable-volumes-x":"7",
            "storage":"1Gi","bad name/x":"1"}"#,
    );
    assert_eq!((it.milli_cpu, it.memory, it.ephemeral_storage), (1001, 2, 1 << 30));
    assert_eq!((it.allowed_pod_number, it.get(PODS), it.get(CPU)), (110, 110, 1001));
    let scalars: Vec<_> = it.scalars().iter().map(|(name, amount)| (&**name, *amount)).collect();
    let expected =
        [("attachable-volumes-x", 7), ("example.com/gpu", 2), ("hugepages-2Mi", 4 << 20)];
    assert_eq!(scalars, expected);
    assert_eq!((it.get("example.com/gpu"), it.scalar("storage")), (2, 0));
}

#[test]
fn the_larger_amount_of_each_slot_is_taken_but_not_of_pods() {
    let mut it = resource(r#"{"cpu":"2","memory":"1Gi","example.com/a":"1"}"#);
    it.set_max_list(&list(r#"{"cpu":"1","memory":"2Gi","example.com/b":"3","pods":"5"}"#));
    assert_eq!((it.milli_cpu, it.memory, it.allowed_pod_number), (2000, 2 << 30, 0));
    assert_eq!((it.scalar("example.com/a"), it.scalar("example.com/b")), (1, 3));
    let mut slots = resource(r#"{"cpu":"2","memory":"1Gi","example.com/a":"1"}"#);
    slots.set_max(&resource(r#"{"cpu":"1","memory":"2Gi","example.com/b":"3"}"#));
    assert_eq!(slots, it);
}

#[test]
fn sums_of_the_largest_amounts_neither_wrap_nor_lose_anything() {
    // kubernetes#141328: two pods of nearly 2^63 bytes each on one node.
    let huge = resource(r#"{"memory":"9223372036854775807","cpu":"9223372036854775807m"}"#);
    let small = resource(r#"{"memory":"1","cpu":"1m"}"#);
    let mut sum = small.clone();
    sum.add(&huge);
    sum.add(&huge);
    assert_eq!(sum.memory, 2 * i128::from(i64::MAX) + 1);
    assert!(sum.milli_cpu > i128::from(i64::MAX));
    sum.sub(&huge);
    sum.sub(&huge);
    assert_eq!(sum, small);
}

#[test]
fn an_amount_beyond_64_bits_counts_as_the_largest_that_fits() {
    // kubernetes#102134: 50E bytes must not look small.
    assert_eq!(resource(r#"{"memory":"50E"}"#).memory, i128::from(i64::MAX));
    assert_eq!(resource(r#"{"ephemeral-storage":"10P"}"#).ephemeral_storage, 10_i128.pow(16));
}

proptest! {
    #[test]
    fn taking_away_what_was_added_leaves_an_equal_value(
        base in amounts(),
        pods in prop::collection::vec(amounts(), 0..6),
    ) {
        let mut sum = base.clone();
        for pod in &pods {
            sum.add(pod);
        }
        for pod in &pods {
            sum.sub(pod);
        }
        // A zero amount is the same as none.
        let mut expected = base;
        expected.sub(&Resource::default());
        prop_assert_eq!(sum, expected);
    }
}

fn amounts() -> impl Strategy<Value = Resource> {
    let names = prop::sample::select(vec!["cpu", "memory", "pods", "x.io/a", "x.io/b"]);
    let amount = any::<i64>().prop_map(Quantity::from_value);
    prop::collection::vec((names, amount), 0..5)
        .prop_map(|pairs| Resource::from_resource_list(&pairs.into_iter().collect()))
}

#[test]
fn names_are_told_apart_as_upstream_does() {
    // Each row: name, extended, scalar, native.
    for (name, extended, scalar, native) in [
        ("cpu", false, false, true),
        ("storage", false, false, true),
        ("example.com/gpu", true, true, false),
        ("requests.example.com/gpu", false, false, false),
        ("kubernetes.io/x", false, true, true),
        ("sub.kubernetes.io/x", false, true, true),
        ("hugepages-1Gi", false, true, true),
        ("attachable-volumes-aws-ebs", false, true, true),
        ("Example.com/gpu", false, false, false),
        ("example.com/", false, false, false),
        ("a/b/c", false, false, false),
    ] {
        let found = (
            is_extended_resource_name(name),
            is_scalar_resource_name(name),
            is_native_resource(name),
        );
        assert_eq!(found, (extended, scalar, native), "{name}");
    }
    // The prefix that quotas put before the name counts into the limit of 253 bytes.
    let long = |bytes: usize| format!("{}/x", "a".repeat(bytes));
    assert!(is_extended_resource_name(&long(253 - "requests.".len())));
    assert!(!is_extended_resource_name(&long(254 - "requests.".len())));
    assert!(is_dra_extended_resource_name("deviceclass.resource.kubernetes.io/gpu"));
    assert!(!is_dra_extended_resource_name("cpu"));
}

#[test]
fn lists_are_read_from_json_with_null_as_nothing() {
    assert_eq!(list("null"), ResourceList::default());
    let it = list(r#"{"memory":"1Gi","cpu":0.5,"cpu":"1","x":null}"#);
    let pairs: Vec<_> = it.iter().map(|(name, it)| format!("{name}={it}")).collect();
    assert_eq!(pairs, ["cpu=1", "memory=1Gi", "x=0"]);
    assert_eq!(serde_json::to_string(&it).unwrap(), r#"{"cpu":"1","memory":"1Gi","x":"0"}"#);
    assert!(it.contains_key("x") && !it.contains_key("y"));
    assert!(serde_json::from_str::<ResourceList>(r#"{"cpu":"many"}"#).is_err());
}

#[test]
fn lists_add_and_compare_name_by_name() {
    let mut it = list(r#"{"a":"1","b":"2"}"#);
    it.add(&list(r#"{"b":"3","c":"4"}"#));
    assert_eq!(it, list(r#"{"a":"1","b":"5","c":"4"}"#));
    it.set_max(&list(r#"{"a":"9","b":"1","d":"0"}"#));
    assert_eq!(it, list(r#"{"a":"9","b":"5","c":"4","d":"0"}"#));
    it.fill_missing(&list(r#"{"a":"7","e":"7"}"#));
    assert_eq!(it, list(r#"{"a":"9","b":"5","c":"4","d":"0","e":"7"}"#));
}
