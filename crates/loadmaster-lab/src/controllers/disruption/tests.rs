use serde_json::{Value, json};

use crate::controllers::testing::World;
use crate::resources::Collection;

const BUDGETS: Collection = Collection::POD_DISRUPTION_BUDGETS;

/// Allowed, healthy, desired and expected, and the condition's reason, for a budget over a
/// deployment of `replicas` pods.
fn judged(replicas: usize, bound: Value) -> (Value, Value) {
    let mut world = World::new(1);
    world.deployment(replicas, |_| {});
    let mut spec = bound;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    world.make(BUDGETS, json!({"metadata": {"name": "b"}, "spec": spec}));
    world.run();
    let status = world.get(BUDGETS, "b").unwrap()["status"].clone();
    let numbers = json!([
        status["disruptionsAllowed"],
        status["currentHealthy"],
        status["desiredHealthy"],
        status["expectedPods"]
    ]);
    (numbers, status["conditions"][0]["reason"].clone())
}

#[test]
fn a_budget_allows_what_its_bound_leaves() {
    let cases = [
        (4, json!({"minAvailable": 3}), json!([1, 4, 3, 4])),
        (4, json!({"maxUnavailable": 1}), json!([1, 4, 3, 4])),
        (5, json!({"minAvailable": "50%"}), json!([2, 5, 3, 5])),
        (5, json!({"maxUnavailable": "50%"}), json!([3, 5, 2, 5])),
    ];
    for (replicas, bound, numbers) in cases {
        assert_eq!(judged(replicas, bound.clone()), (numbers, json!("SufficientPods")), "{bound}");
    }
}

#[test]
fn a_budget_that_is_not_met_allows_nothing() {
    assert_eq!(
        judged(1, json!({"minAvailable": 2})),
        (json!([0, 1, 2, 1]), json!("InsufficientPods"))
    );
    assert_eq!(
        judged(0, json!({"minAvailable": 0})),
        (json!([0, 0, 0, 0]), json!("InsufficientPods"))
    );
}

#[test]
fn evictions_under_way_count_as_unhealthy_for_two_minutes() {
    let mut world = World::new(1);
    world.deployment(2, |_| {});
    world.make(
        BUDGETS,
        json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1,
        "selector": {"matchLabels": {"app": "web"}}}}),
    );
    world.run();
    let pod = world.pods().remove(0);
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    world.edit(BUDGETS, "b", |it| it["status"]["disruptedPods"] = json!({pod.as_str(): now}));
    world.settle();
    let allowed =
        |world: &World| world.get(BUDGETS, "b").unwrap()["status"]["disruptionsAllowed"].clone();
    assert_eq!(allowed(&world), 0);
    world.pass(121);
    assert_eq!(allowed(&world), 1);
}
