use loadmaster_framework::QueuedPodInfo;
use proptest::prelude::*;

use super::{key, secs, with_priority};
use crate::queue::heap::Heap;

fn info(name: &str, priority: i32) -> QueuedPodInfo {
    QueuedPodInfo::new(with_priority(name, priority), secs(0))
}

fn higher(a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
    a.pod.priority() > b.pod.priority()
}

fn popped(heap: &mut Heap) -> Vec<String> {
    std::iter::from_fn(|| heap.pop(&higher)).map(|it| it.pod.name().to_string()).collect()
}

/// By hand after Go's `container/heap`: the last item takes the place of the first, and sinks no
/// further since nothing goes before it.
#[test]
fn equal_pods_come_out_in_the_order_of_gos_heap() {
    let mut heap = Heap::default();
    for name in ["a", "b", "c", "d"] {
        heap.push(info(name, 0), &higher);
    }
    assert_eq!(popped(&mut heap), ["a", "d", "c", "b"]);
}

#[test]
fn a_pod_that_changes_moves_to_its_new_place() {
    let mut heap = Heap::default();
    for (name, priority) in [("a", 3), ("b", 2), ("c", 1)] {
        heap.push(info(name, priority), &higher);
    }
    assert!(heap.update(&key("c"), |it| it.pod = with_priority("c", 9), &higher));
    heap.push(info("a", 0), &higher);
    assert_eq!(heap.len(), 3);
    assert_eq!(popped(&mut heap), ["c", "b", "a"]);
}

proptest! {
    #[test]
    fn pods_come_out_highest_first_whatever_was_added_and_dropped(
        ops in proptest::collection::vec((0_u8..20, -50_i32..50, any::<bool>()), 1..100)
    ) {
        let mut heap = Heap::default();
        let mut model = std::collections::BTreeMap::new();
        for (name, priority, add) in ops {
            let name = format!("p{name}");
            if add {
                heap.push(info(&name, priority), &higher);
                model.insert(name, priority);
            } else {
                let dropped = heap.remove(&key(&name), &higher).map(|it| it.pod.priority());
                prop_assert_eq!(dropped, model.remove(&name));
            }
            for (name, priority) in &model {
                prop_assert_eq!(heap.get(&key(name)).unwrap().pod.priority(), *priority);
            }
        }
        let mut expected: Vec<_> = model.into_values().collect();
        expected.sort_by(|a, b| b.cmp(a));
        let order: Vec<_> =
            std::iter::from_fn(|| heap.pop(&higher)).map(|it| it.pod.priority()).collect();
        prop_assert_eq!(order, expected);
    }
}
