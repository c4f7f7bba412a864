//! Evicting pods: a deletion that budgets may refuse.

use serde_json::{Value, json};

use super::{Api, DeleteOptions};
use crate::resources::Collection;
use crate::selectors::LabelSelector;
use crate::status::{Details, Status};
use crate::store::{Object, StoreError, Write, is_being_deleted, rfc3339, text};

const REFUSAL: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

impl Api {
    /// Deletes a pod unless its disruption budget has nothing left.
    ///
    /// # Errors
    /// 404; 429 when the budget refuses; 500 when several budgets select the pod; the preconditions
    /// of the deletion.
    pub fn evict(
        &self,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        let pods = Collection::PODS.resource();
        let pod = self.get(pods, namespace, name)?;
        if needs_budget(&pod) {
            let (budgets, _) = self.store.list(Collection::POD_DISRUPTION_BUDGETS, Some(namespace));
            let selects =
                |it: &&Object| LabelSelector::from_object(&it["spec"]["selector"]).matches(&pod);
            let mut matching = budgets.iter().filter(selects);
            if let Some(budget) = matching.next() {
                if matching.next().is_some() {
                    return Err(Status::internal(
                        "This pod has more than one PodDisruptionBudget, which the eviction \
                         subresource does not support.",
                    ));
                }
                self.spend(namespace, text(budget, "name"), &pod, options.dry_run)?;
            }
        }
        self.delete(pods, namespace, name, options)?;
        Ok(())
    }

    /// Takes one disruption off a budget.
    fn spend(
        &self,
        namespace: &str,
        budget: &str,
        pod: &Value,
        dry_run: bool,
    ) -> Result<(), Status> {
        self.store.update(Collection::POD_DISRUPTION_BUDGETS, namespace, budget, |current| {
            let status = &current["status"];
            let number = |field: &str| status[field].as_i64().unwrap_or(0);
            let generation = current["metadata"]["generation"].as_i64().unwrap_or(0);
            if number("observedGeneration") < generation {
                let message = format!(
                    "The disruption budget {budget} is still being processed by the server."
                );
                return Err(StoreError::from(refusal(&message)));
            }
            let (desired, healthy) = (number("desiredHealthy"), number("currentHealthy"));
            // An unhealthy pod costs a budget nothing that is met without it.
            if !is_ready(pod) && desired > 0 && healthy >= desired {
                return Ok(Write::Keep);
            }
            if number("disruptionsAllowed") <= 0 {
                let message = format!(
                    "The disruption budget {budget} needs {desired} healthy pods and has {healthy} \
                     currently"
                );
                return Err(StoreError::from(refusal(&message)));
            }
            if dry_run {
                return Ok(Write::Keep);
            }
            let mut next = Value::clone(current);
            next["status"]["disruptionsAllowed"] = json!(number("disruptionsAllowed") - 1);
            next["status"]["disruptedPods"][text(pod, "name")] = json!(rfc3339(self.store.now()));
            Ok(Write::Put(next))
        })?;
        Ok(())
    }
}

/// Pods that do not run, or already go, disturb nobody.
fn needs_budget(pod: &Value) -> bool {
    let idle = matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Succeeded" | "Failed"));
    !idle && !is_being_deleted(pod)
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

fn refusal(cause: &str) -> Status {
    Status::new(429, "TooManyRequests", REFUSAL).with_details(Details::default()).with_cause(
        "DisruptionBudget",
        cause,
        "",
    )
}
