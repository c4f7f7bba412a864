#![doc = include_str!("image_locality.md")]

use std::borrow::Cow;

use loadmaster_framework::{
    Cycle, CycleState, FieldError, Gates, Hooks, NodeInfo, NodeScore, Outcome, Plugin, Score,
    api::Pod,
};

use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct ImageLocality;

impl Plugin for ImageLocality {
    const NAME: &'static str = "ImageLocality";
    const DOC: &'static str = include_str!("image_locality.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).score().into())
    }
}

impl Score for ImageLocality {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let nodes = cx.snapshot.nodes().len();
        let present = images(cx.pod).filter_map(|image| {
            let size = node.image_size(&image)?;
            Some(scaled(size, cx.snapshot.image_node_count(&image), nodes))
        });
        Ok(points(present.map(i128::from).sum(), cx.pod.all_containers().count()))
    }
}

/// Every image that the pod needs, once for each use.
fn images(pod: &Pod) -> impl Iterator<Item = Cow<'_, str>> {
    let of_containers = pod.all_containers().map(|it| &*it.image);
    let of_volumes = pod.spec.volumes.iter().filter_map(|it| it.image.as_ref());
    of_containers.chain(of_volumes.map(|it| &*it.reference)).map(with_tag)
}

/// The name under which a node lists the image: one without a tag means `latest`.
fn with_tag(image: &str) -> Cow<'_, str> {
    if image.rfind(':') <= image.rfind('/') {
        Cow::Owned(format!("{image}:latest"))
    } else {
        Cow::Borrowed(image)
    }
}

/// An image counts with the part of the nodes that have it, so that pods do not heap up on the few
/// nodes that happen to have a rare one.
#[expect(clippy::cast_possible_truncation, reason = "a part of an i64 fits; the cast saturates")]
fn scaled(size: i64, nodes_with_it: usize, nodes: usize) -> i64 {
    let spread = nodes_with_it as f64 / nodes as f64;
    (size as f64 * spread) as i64
}

/// 0 points up to 23 MiB in all, 100 from 1000 MiB a container, and evenly between.
fn points(bytes: i128, containers: usize) -> i64 {
    let most = MOST_BYTES_PER_CONTAINER * containers as i128;
    let bytes = if bytes < LEAST_BYTES { LEAST_BYTES } else { bytes.min(most) };
    let points = i128::from(NodeScore::MAX) * (bytes - LEAST_BYTES) / (most - LEAST_BYTES);
    i64::try_from(points).unwrap_or(NodeScore::MAX)
}

const MIB: i128 = 1024 * 1024;
const LEAST_BYTES: i128 = 23 * MIB;
const MOST_BYTES_PER_CONTAINER: i128 = 1000 * MIB;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_kit::check;

    #[expect(clippy::cast_possible_truncation, reason = "test sizes fit")]
    fn node(name: &str, images: &[(&str, i128)]) -> Value {
        let image =
            |(name, size): &(&str, i128)| json!({"names": [name], "sizeBytes": *size as i64});
        let images: Vec<Value> = images.iter().map(image).collect();
        json!({"metadata": {"name": name}, "status": {"images": images}})
    }

    /// The worked example of the page.
    #[test]
    fn an_image_counts_with_its_size_and_its_spread() {
        let nodes = [
            node("n1", &[("web:v1", 600 * MIB)]),
            node("n2", &[("web:v1", 600 * MIB), ("base:latest", 30 * MIB)]),
            node("n3", &[]),
            node("n4", &[]),
        ];
        let pod = |image: &str| json!({"spec": {"containers": [{"image": image}]}});
        // 600 MiB on 2 of 4 nodes count as 300 MiB: 100 * (300 - 23) / (1000 - 23) = 28.3.
        check::<ImageLocality>(json!(null), pod("web:v1"), &nodes)
            .is(&["n1 28", "n2 28", "n3 0", "n4 0"]);
        // 30 MiB on one node of four are below the least size.
        check::<ImageLocality>(json!(null), pod("base"), &nodes)
            .is(&["n1 0", "n2 0", "n3 0", "n4 0"]);
    }

    #[test]
    fn init_containers_and_image_volumes_count_and_huge_images_do_not_overflow() {
        let nodes = [node("n1", &[("a:1", 500 * MIB), ("v:latest", i128::from(i64::MAX))])];
        let two = json!({"spec": {
            "initContainers": [{"image": "a:1"}],
            "containers": [{"image": "a:1"}],
        }});
        // 1000 MiB for two containers: 100 * (1000 - 23) / (2000 - 23) = 49.4.
        check::<ImageLocality>(json!(null), two, &nodes).is(&["n1 49"]);
        let volumes = json!({"spec": {
            "containers": [{"image": "none"}],
            "volumes": [{"name": "x", "image": {"reference": "v"}}, {"name": "y", "image": {"reference": "v"}}],
        }});
        check::<ImageLocality>(json!(null), volumes, &nodes).is(&["n1 100"]);
    }

    #[test]
    fn a_name_without_a_tag_means_latest_also_behind_a_port() {
        assert_eq!(with_tag("web"), "web:latest");
        assert_eq!(with_tag("registry:5000/web"), "registry:5000/web:latest");
        assert_eq!(with_tag("registry:5000/web:v1"), "registry:5000/web:v1");
        assert_eq!(with_tag("web@sha256:00"), "web@sha256:00");
    }
}
