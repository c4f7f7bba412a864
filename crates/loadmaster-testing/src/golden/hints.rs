//! Family 15: the events that plugins register, and their queueing hints.

use std::sync::Arc;

use loadmaster_framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, EventResource, Gates, Hint,
    Listers, Object, PodInfo, QueueingHint, Registry, api::Pod,
};
use serde::{Deserialize, Serialize, de::Error};
use serde_json::Value;

use super::{Difference, differences, kinds::object};

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
    _is_one: bool,
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
            let events = extensions.map(|it| it.events_to_register()).unwrap_or_default();
            let actual: Vec<_> = events.iter().map(registered).collect();
            Ok(differences(&case.events, &actual))
        }
        Case::Call(case) => call(&registry, *case),
    }
}

fn registered(it: &ClusterEventWithHint) -> Registered {
    Registered {
        resource: it.event.resource.as_str().to_owned(),
        action_types: it.event.action.names().into_iter().map(str::to_owned).collect(),
        has_hint: it.has_hint,
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
    let answer = extensions.and_then(|extensions| {
        let events = extensions.events_to_register();
        let registered = events.iter().find(|it| it.has_hint && it.event.covers(&event))?.event;
        Some(extensions.queueing_hint(Hint {
            registered,
            event,
            pod: &PodInfo::new(Arc::new(case.pod)),
            old: old.as_ref(),
            new: new.as_ref(),
            listers: &listers,
        }))
    });
    let actual = Answer {
        hint: match answer {
            None => "no hint covers the event".to_owned(),
            Some(Ok(QueueingHint::Skip)) => "QueueSkip".to_owned(),
            // The queue treats an error as Queue.
            Some(Ok(QueueingHint::Queue) | Err(_)) => "Queue".to_owned(),
        },
        error: answer.and_then(Result::err).map(|it| it.to_string()),
        emitted_events: case.emitted_events.as_ref().map(|_| emitted(old.as_ref(), new.as_ref())),
    };
    let expected =
        Answer { hint: case.hint, error: case.error, emitted_events: case.emitted_events };
    Ok(differences(&expected, &actual))
}

/// What the plugin says of events, if it says anything.
fn extensions(
    registry: &Registry,
    plugin: &str,
    args: &Value,
) -> serde_json::Result<Option<Arc<dyn EnqueueExtensions>>> {
    let hooks = registry.build(plugin, args, &Gates::default()).map_err(Error::custom)?;
    Ok(hooks.enqueue_extensions)
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

/// The events that the scheduler derives from two versions of an object.
fn emitted(old: Option<&Object>, new: Option<&Object>) -> Vec<Event> {
    let events = loadmaster_core::event::events_of(old, new);
    let event = |it: &ClusterEvent| Event {
        resource: it.resource.as_str().to_owned(),
        action_type: it.action.names().join("|"),
    };
    events.iter().map(event).collect()
}
