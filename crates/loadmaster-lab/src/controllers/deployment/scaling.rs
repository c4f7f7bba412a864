//! A deployment whose number of replicas was changed, perhaps in the middle of a rollout.

use super::Rollout;
use super::sets::{DESIRED, MAX, Sets, sum, text_annotation};
use crate::status::Status;
use crate::store::{Object, text};
use crate::values::number;

const SPEC: &str = "/spec/replicas";

impl Rollout<'_> {
    /// Whether some set was made for another number of replicas.
    pub(super) fn is_resized(&self, sets: &Sets) -> bool {
        let desired = |it: &Object| text_annotation(it, DESIRED).parse::<i64>().ok();
        sets.active().iter().any(|it| desired(it).is_some_and(|it| it != self.replicas()))
    }

    /// One active set takes the whole number; several share it by their sizes.
    pub(super) fn scale_proportionally(&mut self, sets: &Sets) -> Result<(), Status> {
        let active = sets.active();
        let only = match active.as_slice() {
            [] => sets.new.clone().or_else(|| sets.old.last().cloned()),
            [set] => Some(set.clone()),
            _ => None,
        };
        if let Some(set) = only {
            self.scale_set(&set, self.replicas())?;
            return Ok(());
        }
        if active.is_empty() {
            return Ok(());
        }
        if sets.new.as_ref().is_some_and(|it| self.is_saturated(it)) {
            for set in sets.old.iter().filter(|it| number(it, SPEC) > 0) {
                self.scale_set(set, 0)?;
            }
            return Ok(());
        }
        if self.deployment["spec"]["strategy"]["type"] == "RollingUpdate" {
            self.share_out(active)?;
        }
        Ok(())
    }

    fn is_saturated(&self, set: &Object) -> bool {
        number(set, SPEC) == self.replicas()
            && text_annotation(set, DESIRED) == self.replicas().to_string()
            && number(set, "/status/availableReplicas") == self.replicas()
    }

    fn share_out(&mut self, mut active: Vec<Object>) -> Result<(), Status> {
        let (surge, _) = self.slack();
        let allowed = if self.replicas() > 0 { self.replicas() + surge } else { 0 };
        let mut left = allowed - sum(&active, SPEC);
        // The largest first; of equal ones the newer grows first and the older shrinks first.
        let growing = left > 0;
        active.sort_by(|a, b| {
            let ages = text(a, "creationTimestamp").cmp(text(b, "creationTimestamp"));
            let ages = if growing { ages.reverse() } else { ages };
            number(b, SPEC).cmp(&number(a, SPEC)).then(ages)
        });
        let mut sizes: Vec<i64> = Vec::with_capacity(active.len());
        for set in &active {
            let size = number(set, SPEC);
            // What the deployment could have at most when this set got its size.
            let share_of = text_annotation(set, MAX).parse().ok().filter(|it| *it > 0);
            let share_of = share_of.unwrap_or_else(|| number(&self.deployment, "/status/replicas"));
            let ideal = rounded(size * allowed, share_of) - size;
            let change = if growing { ideal.clamp(0, left) } else { ideal.clamp(left, 0) };
            left -= change;
            sizes.push(size + change);
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + left).max(0);
        }
        for (set, size) in active.iter().zip(sizes) {
            self.scale_set(set, size)?;
        }
        Ok(())
    }
}

/// A quotient of non-negative numbers, rounded half up.
fn rounded(dividend: i64, divisor: i64) -> i64 {
    if divisor == 0 { 0 } else { (2 * dividend + divisor) / (2 * divisor) }
}
