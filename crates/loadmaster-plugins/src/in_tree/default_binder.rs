#![doc = include_str!("default_binder.md")]

use loadmaster_framework::{
    Access, Action, Bind, Binding, Cycle, CycleState, FieldError, Gates, Hooks, Outcome, Plugin,
};

use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct DefaultBinder;

impl Plugin for DefaultBinder {
    const NAME: &'static str = "DefaultBinder";
    const DOC: &'static str = include_str!("default_binder.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).bind().needs(Access::new("", "pods/binding", &["create"])).into())
    }
}

impl Bind for DefaultBinder {
    fn bind(&self, cx: Cycle<'_>, _: &CycleState, node: &str) -> Outcome<Binding> {
        let (pod, uid) = (cx.pod.key(), cx.pod.uid().clone());
        Ok(Binding::Do(Action::Bind { pod, uid, node: node.into() }))
    }
}

#[cfg(test)]
mod tests {
    use loadmaster_framework::{Snapshot, api::ObjectKey};
    use serde_json::json;

    use super::*;
    use crate::test_kit::{cycle, pod};

    #[test]
    fn it_binds_the_very_pod_by_uid() {
        let pod = pod(json!({"metadata": {"namespace": "ns", "name": "a", "uid": "u1"}}));
        let snapshot = Snapshot::default();
        let binding = DefaultBinder.bind(cycle(&pod, &snapshot), &CycleState::default(), "n1");
        let pod = ObjectKey::new("ns", "a");
        let action = Action::Bind { pod, uid: "u1".into(), node: "n1".into() };
        assert_eq!(binding, Ok(Binding::Do(action)));
    }
}
