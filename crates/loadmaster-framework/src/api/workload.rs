//! What pods belong to: services and controllers, read for the default spreading, and namespaces.

use serde::{Deserialize, Serialize};

use super::{LabelSelector, Labels, ObjectMeta, null_as_default};

/// A namespace; its labels are what namespace selectors look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Namespace {
    /// Name and labels.
    pub metadata: ObjectMeta,
}

macro_rules! workload {
    ($(#[$doc:meta])* $name:ident, $spec:ident, $selector:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            /// Name and namespace.
            pub metadata: ObjectMeta,
            /// What it selects.
            #[serde(deserialize_with = "null_as_default")]
            pub spec: $spec,
        }

        #[doc = concat!("What a [`", stringify!($name), "`] selects.")]
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $spec {
            /// The pods it is about.
            pub selector: $selector,
        }
    };
}

workload!(
    /// A `Service` of `v1`; without a selector it is about no pods.
    Service, ServiceSpec, Labels
);
workload!(
    /// A `ReplicationController` of `v1`.
    ReplicationController, ReplicationControllerSpec, Labels
);
workload!(
    /// A `ReplicaSet` of `apps/v1`.
    ReplicaSet, ReplicaSetSpec, Option<LabelSelector>
);
workload!(
    /// A `StatefulSet` of `apps/v1`.
    StatefulSet, StatefulSetSpec, Option<LabelSelector>
);
