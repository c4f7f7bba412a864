//! Resource quotas: what is used of each.
//!
//! Source: `pkg/controller/resourcequota` 1.36.

use jiff::Timestamp;
use serde_json::Value;

use super::runner::{Controller, Key};
use crate::api::Api;
use crate::quota;
use crate::resources::{Collection, RESOURCES};
use crate::status::Status;
use crate::store::text;

/// The controller of resource quotas.
#[derive(Clone, Copy, Debug)]
pub struct Quotas;

impl Controller for Quotas {
    fn watches(&self) -> Vec<Collection> {
        RESOURCES.iter().filter(|it| quota::is_counted(it)).map(|it| it.collection).collect()
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        if collection == Collection::RESOURCE_QUOTAS {
            return vec![Key::of(object)];
        }
        let namespace = text(object, "namespace");
        let (quotas, _) = api.store().list(Collection::RESOURCE_QUOTAS, Some(namespace));
        quotas.iter().map(|it| Key::of(it)).collect()
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        _: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let (store, collection) = (api.store(), Collection::RESOURCE_QUOTAS);
        if let Some(found) = store.get(collection, &key.namespace, &key.name) {
            let status = quota::status(store, &found);
            let written = store.edit(collection, &key.namespace, &key.name, |quota| {
                quota["status"].clone_from(&status);
            });
            // One that has gone in the meantime needs no status.
            drop(written);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::api::DeleteOptions;
    use crate::controllers::testing::World;
    use crate::resources::Collection;

    #[test]
    fn a_quota_tells_what_is_used_and_follows_what_comes_and_goes() {
        let mut world = World::new(1);
        let hard = json!({"pods": "3", "requests.cpu": "1", "count/configmaps": "5"});
        world.make(
            Collection::RESOURCE_QUOTAS,
            json!({"metadata": {"name": "q"}, "spec": {"hard": hard}}),
        );
        world.pod_on("a", "n1", |pod| {
            pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "250m"}});
        });
        world.settle();
        let status =
            |world: &World| world.get(Collection::RESOURCE_QUOTAS, "q").unwrap()["status"].clone();
        // The namespace's own config map counts too.
        let used = json!({"pods": "1", "requests.cpu": "250m", "count/configmaps": "1"});
        assert_eq!(status(&world), json!({"hard": hard, "used": used}));
        world.delete(Collection::PODS, "a", &DeleteOptions::default());
        world.settle();
        assert_eq!(status(&world)["used"]["pods"], "0");
    }
}
