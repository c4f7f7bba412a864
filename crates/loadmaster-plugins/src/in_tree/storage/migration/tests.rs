use serde_json::{Value, json};

use super::*;

fn volume(spec: Value, labels: Value) -> PersistentVolume {
    let volume = json!({"metadata": {"name": "v", "labels": labels}, "spec": spec});
    serde_json::from_value(volume).unwrap()
}

fn handle(volume: &PersistentVolume) -> Result<Text, String> {
    InTree::of_persistent(volume).unwrap().handle(volume)
}

#[test]
fn amazon_disks_are_known_by_the_end_of_their_address() {
    let of =
        |id: &str| handle(&volume(json!({"awsElasticBlockStore": {"volumeID": id}}), json!({})));
    assert_eq!(of("vol-1"), Ok("vol-1".into()));
    assert_eq!(of("aws:///vol-1"), Ok("vol-1".into()));
    assert_eq!(of("aws://us-east-1a/vol-1"), Ok("vol-1".into()));
    assert_eq!(
        of("aws://us-east-1a/disk-1"),
        Err("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume \
             (aws://us-east-1a/disk-1)"
            .to_owned())
    );
}

#[test]
fn google_disks_are_known_by_their_zone_or_their_region() {
    let of = |zones: &str| {
        let spec = json!({"gcePersistentDisk": {"pdName": "d"}});
        handle(&volume(spec, json!({ZONE: zones})))
    };
    let text = |it: &str| Ok(Text::from(it));
    assert_eq!(of("us-east1-b"), text("projects/UNSPECIFIED/zones/us-east1-b/disks/d"));
    assert_eq!(of(""), text("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"));
    assert_eq!(of("us-east1-b__us-east1-c"), text("projects/UNSPECIFIED/regions/us-east1/disks/d"));
    assert_eq!(
        of("us-east1-b__us-west1-a").unwrap_err(),
        "failed to get region from zones: multiple or no regions gotten from zones, got: \
         map[us-east1:{} us-west1:{}]"
    );
    assert!(of("z1__z2").unwrap_err().ends_with("expected: {locale}-{region}-{zone}, got: z1"));
}

#[test]
fn other_disks_keep_their_name() {
    let same = |spec: Value| handle(&volume(spec, json!({}))).unwrap();
    assert_eq!(&*same(json!({"azureDisk": {"diskName": "d", "diskURI": "uri"}})), "uri");
    assert_eq!(&*same(json!({"cinder": {"volumeID": "c"}})), "c");
    assert_eq!(&*same(json!({"portworxVolume": {"volumeID": "p"}})), "p");
    let shared = json!({"azureDisk": {"diskURI": "uri", "kind": "Shared"}});
    assert_eq!(
        handle(&volume(shared, json!({}))),
        Err("kind(Shared) is not supported in csi migration".to_owned())
    );
}

fn affinity(volume: &PersistentVolume) -> Option<NodeSelector> {
    InTree::of_persistent(volume).unwrap().node_affinity(volume).unwrap()
}

fn requiring(key: &str, values: &[&str]) -> Value {
    json!({"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
    ]}})
}

fn selector(key: &str, values: &[&str]) -> NodeSelector {
    serde_json::from_value(requiring(key, values)["required"].clone()).unwrap()
}

#[test]
fn the_drivers_zone_label_takes_the_place_of_kubernetes_one() {
    let disk = |affinity: Value, labels| {
        let id = json!({"volumeID": "vol-1"});
        volume(json!({"awsElasticBlockStore": id, "nodeAffinity": affinity}), labels)
    };
    let driver = "topology.ebs.csi.aws.com/zone";
    for key in [ZONE, BETA_ZONE] {
        let renamed = affinity(&disk(requiring(key, &["a"]), json!({ZONE: "b"})));
        assert_eq!(renamed, Some(selector(driver, &["a"])), "{key}");
        let labelled = affinity(&disk(Value::Null, json!({key: "b__a"})));
        assert_eq!(labelled, Some(selector(driver, &["a", "b"])), "{key}");
    }
    let other = affinity(&disk(requiring("rack", &["1"]), json!({})));
    assert_eq!(other, Some(selector("rack", &["1"])));
    assert_eq!(affinity(&disk(Value::Null, json!({}))), None);
    let regional = affinity(&disk(requiring(BETA_REGION, &["r"]), json!({BETA_ZONE: "a"})));
    let terms = regional.unwrap().node_selector_terms;
    let keys: Vec<&str> = terms[0].match_expressions.iter().map(|it| &*it.key).collect();
    assert_eq!(keys, [REGION, driver]);
}

#[test]
fn drivers_without_zones_of_their_own_keep_the_labels() {
    let disk = volume(
        json!({"azureDisk": {"diskURI": "uri"}, "nodeAffinity": requiring(ZONE, &["a"])}),
        json!({}),
    );
    assert_eq!(affinity(&disk), Some(selector(ZONE, &["a"])));
}
