//! Cluster roles that are made of others: `admin`, `edit` and `view` first of all.
//!
//! Source: `pkg/controller/clusterroleaggregation` 1.36.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::runner::{Controller, Key};
use crate::api::Api;
use crate::resources::Collection;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::text;
use crate::values::list;

/// The controller of cluster roles with an `aggregationRule`.
#[derive(Clone, Copy, Debug)]
pub struct ClusterRoles;

impl Controller for ClusterRoles {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::CLUSTER_ROLES]
    }

    fn keys(&self, api: &Api, _: Collection, _: &Value) -> Vec<Key> {
        // Any role may be part of any other.
        let (roles, _) = api.store().list(Collection::CLUSTER_ROLES, None);
        let made_of_others = roles.iter().filter(|it| !it["aggregationRule"].is_null());
        made_of_others.map(|it| Key::of(it)).collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        _: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let (store, collection) = (api.store(), Collection::CLUSTER_ROLES);
        let Some(role) = store.get(collection, "", &key.name) else { return Ok(None) };
        let (roles, _) = store.list(collection, None);
        let mut rules: Vec<&Value> = Vec::new();
        for selector in list(&role, "/aggregationRule/clusterRoleSelectors") {
            let selector = LabelSelector::from_object(selector);
            let parts = roles.iter().filter(|it| {
                text(it, "name") != key.name && selector.matches_labels(&it["metadata"]["labels"])
            });
            for rule in parts.flat_map(|it| list(it, "/rules")) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        let rules = json!(rules);
        // One that has gone in the meantime needs no rules.
        drop(store.edit(collection, "", &key.name, |role| role["rules"].clone_from(&rules)));
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::controllers::testing::World;
    use crate::resources::Collection;

    #[test]
    fn a_role_has_the_rules_of_those_that_it_selects() {
        let mut world = World::new(0);
        let rule =
            |resource: &str| json!({"verbs": ["get"], "apiGroups": [""], "resources": [resource]});
        let labelled = |name: &str, resource: &str| json!({"metadata": {"name": name, "labels": {"into": "all"}}, "rules": [rule(resource)]});
        world.make(Collection::CLUSTER_ROLES, labelled("b", "pods"));
        let all = json!({"metadata": {"name": "all"}, "rules": [rule("secrets")],
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"into": "all"}}]}});
        world.make(Collection::CLUSTER_ROLES, all);
        world.settle();
        let rules =
            |world: &World| world.get(Collection::CLUSTER_ROLES, "all").unwrap()["rules"].clone();
        assert_eq!(rules(&world), json!([rule("pods")]));
        world.make(Collection::CLUSTER_ROLES, labelled("a", "nodes"));
        world.make(Collection::CLUSTER_ROLES, labelled("c", "pods"));
        world.settle();
        assert_eq!(rules(&world), json!([rule("nodes"), rule("pods")]));
    }
}
