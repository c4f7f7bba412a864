//! A random history of a cluster, drawn from a seed.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use loadmaster_config::Loaded;
use loadmaster_core::scheduler::SchedulerOptions;
use loadmaster_framework::{
    Gates, Object,
    api::{Node, Pod, Quantity, Text},
};
use loadmaster_sim::{Faults, Sim};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// A cluster with a history under way.
pub(crate) struct History {
    pub(crate) sim: Sim,
    seed: u64,
    rng: ChaCha8Rng,
    pods_made: u32,
    /// Nodes that are away and may come back.
    away: Vec<Arc<Node>>,
}

/// [`VARIANTS`], read.
static LOADED: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
    let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
    let catalog = loadmaster_config::RegistryCatalog::new(&registry, &gates);
    let load = |it: &&str| {
        loadmaster_config::load(&format!("{HEAD}{it}"), "simulation", &catalog).unwrap()
    };
    VARIANTS.iter().map(load).collect()
});

/// The default profile, with everything that this build has, changed as one of [`VARIANTS`].
fn options(seed: u64, variant: usize) -> SchedulerOptions {
    let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
    let options = SchedulerOptions::from_config(&LOADED[variant], &registry, &gates).unwrap();
    SchedulerOptions { seed, ..options }
}

const HEAD: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
";

/// What a reload may come to: other scores, other backoffs, pods that are nobody's for a while.
const VARIANTS: &[&str] = &[
    "
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      disabled: [{name: VolumeRestrictions}, {name: NodeVolumeLimits}, {name: VolumeBinding}, {name: VolumeZone}]
",
    "
percentageOfNodesToScore: 50
podInitialBackoffSeconds: 3
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Concentrate, weight: 7}]
      disabled: [{name: VolumeRestrictions}, {name: NodeVolumeLimits}, {name: VolumeBinding}, {name: VolumeZone}]
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}, {name: PodTopologySpread}]
  pluginConfig:
  - name: DefaultPreemption
    args: {minCandidateNodesAbsolute: 1}
- schedulerName: second
",
    "
profiles:
- schedulerName: second
  plugins:
    multiPoint:
      disabled: [{name: VolumeRestrictions}, {name: NodeVolumeLimits}, {name: VolumeBinding}, {name: VolumeZone}]
",
];

impl History {
    /// A small cluster, and how it will go wrong.
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut sim = Sim::new(options(seed, 0), seed ^ 0x5eed).unwrap();
        let mut percent =
            |most: u32| if rng.random_bool(0.5) { 0 } else { rng.random_range(0..most) };
        sim.set_faults(Faults {
            late_percent: percent(50),
            doubled_percent: percent(30),
            refused_percent: percent(30),
            lost_percent: percent(30),
        });
        let mut history = Self { sim, seed, rng, pods_made: 0, away: Vec::new() };
        for i in 0..history.rng.random_range(1..6) {
            let node = history.node(&format!("n{i}"));
            history.sim.write(node);
        }
        history
    }

    fn node(&mut self, name: &str) -> Node {
        let rng = &mut self.rng;
        let zone = ["a", "b"][rng.random_range(0..2)];
        let taints = if rng.random_bool(0.2) {
            json!([{"key": "dedicated", "value": "x", "effect": "NoSchedule"}])
        } else {
            json!([])
        };
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"zone": zone, "kubernetes.io/hostname": name}},
            "spec": {"taints": taints},
            "status": {"allocatable": {
                "cpu": rng.random_range(1..5).to_string(),
                "memory": format!("{}Gi", rng.random_range(1..5)),
                "pods": rng.random_range(2..12).to_string(),
            }},
        }))
        .unwrap()
    }

    fn pod(&mut self) -> Pod {
        self.pods_made += 1;
        let rng = &mut self.rng;
        let mut spec = json!({
            "schedulerName": "default-scheduler",
            "priority": rng.random_range(0..4) * 100,
            "containers": [{"name": "c", "resources": {"requests": {
                "cpu": format!("{}m", rng.random_range(1..30) * 100),
                "memory": format!("{}Mi", rng.random_range(1..20) * 128),
            }}}],
        });
        if rng.random_bool(0.2) {
            let zone = ["a", "b"][rng.random_range(0..2)];
            spec["nodeSelector"] = json!({"zone": zone});
        }
        if rng.random_bool(0.3) {
            spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
        }
        // Few names, so that pods come again under the name of one that went.
        let name = format!("p{}", rng.random_range(0..25));
        let uid = format!("uid-{}", self.pods_made);
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "default", "uid": uid, "labels": {"app": "x"}},
            "spec": spec,
        }))
        .unwrap()
    }

    /// Something happens.
    pub(crate) fn step(&mut self) {
        match self.rng.random_range(0..103) {
            0..20 => {
                let pod = self.pod();
                if self.sim.cluster().pod(&pod.key()).is_none() {
                    self.sim.write(pod);
                }
            }
            20..30 => {
                if let Some(pod) = self.some_pod() {
                    self.sim.delete(&Object::Pod(pod));
                }
            }
            30..33 => self.node_leaves(),
            33..38 => self.node_comes(),
            38..43 => self.node_changes(),
            43..48 => {
                let by = Duration::from_millis(self.rng.random_range(0..15_000));
                self.sim.advance(by);
            }
            48..60 => self.sim.deliver(),
            60..70 => self.sim.perform(),
            70..73 => {
                let variant = self.rng.random_range(0..VARIANTS.len());
                self.sim.replace_profiles(options(self.seed, variant)).unwrap();
            }
            _ => {
                self.sim.tick(Duration::from_millis(1));
                self.sim.schedule_one();
            }
        }
    }

    fn some_pod(&mut self) -> Option<Arc<Pod>> {
        let pods: Vec<_> = self.sim.cluster().pods().cloned().collect();
        (!pods.is_empty()).then(|| pods[self.rng.random_range(0..pods.len())].clone())
    }

    fn some_node(&mut self) -> Option<Arc<Node>> {
        let nodes = self.sim.cluster().objects().filter_map(Object::as_node);
        let nodes: Vec<_> = nodes.cloned().collect();
        (!nodes.is_empty()).then(|| nodes[self.rng.random_range(0..nodes.len())].clone())
    }

    /// A node goes; its pods go with it, or stay behind for a while.
    fn node_leaves(&mut self) {
        let Some(node) = self.some_node() else { return };
        self.sim.delete(&Object::Node(node.clone()));
        if self.rng.random_bool(0.5) {
            let on_it = |it: &&Arc<Pod>| it.node_name() == Some(node.name());
            let pods: Vec<_> = self.sim.cluster().pods().filter(on_it).cloned().collect();
            for pod in pods {
                self.sim.delete(&Object::Pod(pod));
            }
        }
        self.away.push(node);
    }

    fn node_comes(&mut self) {
        if let Some(node) = self.away.pop() {
            return self.sim.write(Object::Node(node));
        }
        let name = format!("n{}", self.rng.random_range(6..10));
        let mut nodes = self.sim.cluster().objects().filter_map(Object::as_node);
        let is_free = nodes.all(|it| **it.name() != *name);
        drop(nodes);
        if is_free {
            let node = self.node(&name);
            self.sim.write(node);
        }
    }

    /// A node is cordoned or not, tainted or not; it never has less than it had.
    fn node_changes(&mut self) {
        let Some(node) = self.some_node() else { return };
        let mut node = Node::clone(&node);
        if self.rng.random_bool(0.5) {
            node.spec.unschedulable = !node.spec.unschedulable;
        } else if node.spec.taints.is_empty() {
            node.spec.taints = self.node("other").spec.taints;
        } else {
            node.spec.taints.clear();
        }
        self.sim.write(node);
    }

    /// The world is well again: everything is told and done, and backoffs end. It takes less than
    /// the five minutes after which a pod is tried even where its wake-up was lost.
    pub(crate) fn come_to_rest(&mut self) {
        self.sim.set_faults(Faults::default());
        self.sim.replace_profiles(options(self.seed, 0)).unwrap();
        for node in std::mem::take(&mut self.away) {
            self.sim.write(Object::Node(node));
        }
        for _ in 0..20 {
            self.sim.run();
            self.sim.advance(Duration::from_secs(11));
        }
        self.sim.run();
    }

    /// One thing happens in a world that is well, and is followed up for less than five minutes.
    pub(crate) fn calm_step(&mut self) {
        if self.rng.random_bool(0.7) {
            if let Some(pod) = self.some_pod() {
                self.sim.delete(&Object::Pod(pod));
            }
        } else {
            self.node_changes();
        }
        for _ in 0..3 {
            self.sim.run();
            self.sim.advance(Duration::from_secs(11));
        }
        self.sim.run();
    }

    /// A pod that waits although a node has room for it, worked out without the scheduler.
    pub(crate) fn forgotten_pod(&self) -> Option<(Text, Text)> {
        let cluster = self.sim.cluster();
        let nodes: Vec<_> = cluster.objects().filter_map(Object::as_node).collect();
        let waiting = cluster.pods().filter(|it| it.node_name().is_none());
        waiting.into_iter().find_map(|pod| {
            let node = nodes.iter().find(|node| self.has_room(node, pod))?;
            Some((pod.name().clone(), node.name().clone()))
        })
    }

    fn has_room(&self, node: &Node, pod: &Pod) -> bool {
        let selected = pod.spec.node_selector.iter().all(|(k, v)| node.label(k) == Some(&**v));
        let tolerated = node.spec.taints.is_empty() || !pod.spec.tolerations.is_empty();
        let here = |it: &&Arc<Pod>| it.node_name() == Some(node.name());
        let others: Vec<_> = self.sim.cluster().pods().filter(here).collect();
        let total = |pods: &[&Arc<Pod>], resource: &str| -> i64 {
            let of = |it: &Pod| {
                it.spec.containers[0].resources.requests.get(resource).map(Quantity::milli_value)
            };
            pods.iter().filter_map(|it| of(it)).sum::<i64>() + of(pod).unwrap_or(0)
        };
        let offers = |resource: &str| node.status.allocatable.get(resource).unwrap().milli_value();
        selected
            && tolerated
            && !node.spec.unschedulable
            && total(&others, "cpu") <= offers("cpu")
            && total(&others, "memory") <= offers("memory")
            && (i64::try_from(others.len()).unwrap() + 1) * 1000 <= offers("pods")
    }
}
