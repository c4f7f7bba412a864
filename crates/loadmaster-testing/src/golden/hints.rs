//! Family 15: the events that plugins register, and their queueing hints.

use std::sync::Arc;

use loadmaster_framework::{
    ActionType, ClusterEvent, EnqueueExtensions, EventResource, Gates, Hint, Listers, Object,
    PodInfo, QueueingHint, Registry, api::Pod,
};
use serde::{Deserialize, Serialize, de::Error};
use serde_json::Value;

use super::{Difference, differences};

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Case {
    Summary(Summary),
    Call(Box<Call>),
}

/// The events that a plugin registers, in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Summary {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "summary")]
    _summary: bool,
    plugin: String,
    events: Vec<Registered>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Registered {
    resource: String,
    action_types: Vec<String>,
    has_hint: bool,
}

/// A call of one hint function.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Call {
    #[serde(rename = "id")]
    _id: String,
    plugin: String,
    event: Event,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    services: Vec<Value>,
    #[serde(default)]
    resourceclaims: Vec<Value>,
    pod: Pod,
    old_obj: Value,
    new_obj: Value,
    hint: String,
    error: Option<String>,
    emitted_events: Option<Vec<Event>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Event {
    resource: String,
    action_type: String,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    hint: String,
    error: Option<String>,
    emitted_events: Option<Vec<Event>>,
}

pub(super) fn check(line: &str) -> serde_json::Result<Vec<Difference>> {
    let registry = loadmaster_plugins::registry();
    match serde_json::from_str(line)? {
        Case::Summary(case) => {
            let extensions = extensions(&registry, &case.plugin, &Value::Null)?;
            let actual: Vec<_> = extensions
                .events_to_register()
                .iter()
                .map(|it| Registered {
                    resource: it.event.resource.as_str().to_owned(),
                    action_types: it.event.action.names().into_iter().map(str::to_owned).collect(),
                    has_hint: it.has_hint,
                })
                .collect();
            Ok(differences(&case.events, &actual))
        }
        Case::Call(case) => call(&registry, *case),
    }
}

fn call(registry: &Registry, case: Call) -> serde_json::Result<Vec<Difference>> {
    let extensions = extensions(registry, &case.plugin, &case.args)?;
    let old = object(&case.event.resource, case.old_obj)?;
    let new = object(&case.event.resource, case.new_obj)?;
    let mut listers = Listers::default();
    for service in case.services {
        listers
            .upsert(&serde_json::from_value::<loadmaster_framework::api::Service>(service)?.into());
    }
    for claim in case.resourceclaims {
        listers.upsert(&object("resource.k8s.io/ResourceClaim", claim)?.expect("it is not null"));
    }
    let action = ActionType::from_name(&case.event.action_type)
        .ok_or_else(|| Error::custom("no such action"))?;
    let mut resources = KINDS.iter().filter(|it| it.as_str() == case.event.resource);
    let resource = *resources.next().ok_or_else(|| Error::custom("no such resource"))?;
    let event = ClusterEvent::new(resource, action);
    let events = extensions.events_to_register();
    let registered = events.iter().find(|it| it.has_hint && it.event.covers(&event));
    let registered = registered.ok_or_else(|| Error::custom("no hint covers the event"))?.event;
    let answer = extensions.queueing_hint(Hint {
        registered,
        event,
        pod: &PodInfo::new(Arc::new(case.pod)),
        old: old.as_ref(),
        new: new.as_ref(),
        listers: &listers,
    });
    let actual = Answer {
        hint: match answer {
            Ok(QueueingHint::Skip) => "QueueSkip".to_owned(),
            // The queue treats an error as Queue.
            Ok(QueueingHint::Queue) | Err(_) => "Queue".to_owned(),
        },
        error: answer.err().map(|it| it.to_string()),
        emitted_events: case.emitted_events.as_ref().map(|_| emitted(old.as_ref(), new.as_ref())),
    };
    let expected =
        Answer { hint: case.hint, error: case.error, emitted_events: case.emitted_events };
    Ok(differences(&expected, &actual))
}

/// What the plugin says of events.
fn extensions(
    registry: &Registry,
    plugin: &str,
    args: &Value,
) -> serde_json::Result<Arc<dyn EnqueueExtensions>> {
    let hooks = registry.build(plugin, args, &Gates::default()).map_err(Error::custom)?;
    hooks.enqueue_extensions.ok_or_else(|| Error::custom(format!("{plugin} registers no events")))
}

const KINDS: [EventResource; 12] = [
    EventResource::Pod,
    EventResource::Node,
    EventResource::PersistentVolume,
    EventResource::PersistentVolumeClaim,
    EventResource::CsiNode,
    EventResource::CsiDriver,
    EventResource::VolumeAttachment,
    EventResource::CsiStorageCapacity,
    EventResource::StorageClass,
    EventResource::ResourceClaim,
    EventResource::ResourceSlice,
    EventResource::DeviceClass,
];
