//! `RollingUpdate`: new pods come and old ones go within the surge and unavailability allowed.

use super::Rollout;
use super::sets::{Sets, sum};
use crate::status::Status;
use crate::store::Object;
use crate::values::number;

const SPEC: &str = "/spec/replicas";
const AVAILABLE: &str = "/status/availableReplicas";

impl Rollout<'_> {
    pub(super) fn roll(&mut self, sets: &mut Sets) -> Result<(), Status> {
        sets.new = self.adopt_new_set(sets, true)?;
        let Some(new) = sets.new.clone() else { return Ok(()) };
        let current = number(&new, SPEC);
        let wanted = if current > self.replicas() {
            self.replicas()
        } else {
            self.new_set_replicas(&sets.old, current)
        };
        if wanted != current {
            self.scale_set(&new, wanted)?;
            return Ok(());
        }
        self.shrink_old(sets, &new)
    }

    /// How many replicas the new set may have, given those of the old ones.
    pub(super) fn new_set_replicas(&self, old: &[Object], current: i64) -> i64 {
        let wanted = self.replicas();
        if self.deployment["spec"]["strategy"]["type"] != "RollingUpdate" {
            return wanted;
        }
        let (surge, _) = self.slack();
        let room = wanted + surge - sum(old, SPEC) - current;
        current + room.min(wanted - current).max(0)
    }

    fn shrink_old(&mut self, sets: &Sets, new: &Object) -> Result<(), Status> {
        let old_total = sum(&sets.old, SPEC);
        if old_total == 0 {
            return Ok(());
        }
        let min_available = self.replicas() - self.max_unavailable();
        let new_unavailable = number(new, SPEC) - number(new, AVAILABLE);
        let max_gone = old_total + number(new, SPEC) - min_available - new_unavailable;
        if max_gone <= 0 {
            return Ok(());
        }
        let old = self.drop_unhealthy(&sets.old, max_gone)?;
        self.drop_available(&old, new, min_available)
    }

    /// Old pods that are not available go first: they serve nobody.
    fn drop_unhealthy(&mut self, old: &[Object], max: i64) -> Result<Vec<Object>, Status> {
        let mut left = max;
        let mut after = Vec::with_capacity(old.len());
        for set in old {
            let replicas = number(set, SPEC);
            let unhealthy = (replicas - number(set, AVAILABLE)).clamp(0, left);
            if unhealthy == 0 {
                after.push(set.clone());
                continue;
            }
            left -= unhealthy;
            after.push(self.scale_set(set, replicas - unhealthy)?);
        }
        Ok(after)
    }

    /// Then available ones, as long as enough of all stay available.
    fn drop_available(
        &mut self,
        old: &[Object],
        new: &Object,
        min_available: i64,
    ) -> Result<(), Status> {
        let available = sum(old, AVAILABLE) + number(new, AVAILABLE);
        let mut left = available - min_available;
        for set in old {
            let replicas = number(set, SPEC);
            let gone = replicas.min(left);
            if gone > 0 {
                left -= gone;
                self.scale_set(set, replicas - gone)?;
            }
        }
        Ok(())
    }
}
