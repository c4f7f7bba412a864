//! The plugins, broken on purpose: each is the real one but for a single fault.

use std::sync::Arc;

use loadmaster_framework::{
    Cycle, CycleState, FieldError, Filter, Gates, Hooks, NodeInfo, NodeScore, Outcome, Plugin,
    Score, Status,
};
use loadmaster_plugins::academy::{cache_locality::CacheLocality, concentrate::Concentrate};

/// Declares a plugin that is `$real`, built and then changed by `$change`.
macro_rules! broken {
    ($($(#[$doc:meta])* $name:ident($real:ty): $change:expr;)*) => {
        $($(#[$doc])*
        pub(super) struct $name;

        impl Plugin for $name {
            const NAME: &'static str = <$real as Plugin>::NAME;
            type Args = <$real as Plugin>::Args;

            fn build(args: Self::Args, gates: &Gates) -> Result<Hooks, FieldError> {
                let mut hooks = <$real>::build(args, gates)?;
                let change: fn(&mut Hooks) = $change;
                change(&mut hooks);
                Ok(hooks)
            }
        })*
    };
}

broken! {
    /// Counts the pods that do not match.
    CountsTheOthers(Concentrate): |hooks| replace_score(hooks, |it| Box::new(Others(it)));
    /// Gives raw counts as points.
    NeverNormalises(Concentrate): |hooks| replace_score(hooks, |it| Box::new(Raw(it)));
    /// Divides by the range of the counts whatever it is.
    DividesByTheRange(Concentrate): |hooks| replace_score(hooks, |it| Box::new(Divides(it)));
    /// Counts every pod on the node.
    CountsEveryPod(Concentrate): |hooks| replace_score(hooks, |it| Box::new(Every(it)));
    /// Lets every node pass.
    NeverRefuses(CacheLocality): |hooks| hooks.filter = Some(Arc::new(Passes));
    /// Takes two missing labels for equal.
    MissingMatchesMissing(CacheLocality): |hooks| hooks.score = Some(Arc::new(Missing));
}

type Real = Arc<dyn Score>;

fn replace_score(hooks: &mut Hooks, wrap: fn(Real) -> Box<dyn Score>) {
    hooks.score = hooks.score.take().map(|it| Arc::from(wrap(it)));
}

struct Others(Real);

impl Score for Others {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        Ok(10 - self.0.score(cx, state, node)?)
    }

    fn normalize(&self, cx: Cycle<'_>, state: &CycleState, it: &mut [NodeScore<'_>]) -> Outcome {
        self.0.normalize(cx, state, it)
    }
}

struct Raw(Real);

impl Score for Raw {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        self.0.score(cx, state, node)
    }
}

struct Divides(Real);

impl Score for Divides {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        self.0.score(cx, state, node)
    }

    fn normalize(&self, _: Cycle<'_>, _: &CycleState, scores: &mut [NodeScore<'_>]) -> Outcome {
        let least = scores.iter().map(|it| it.score).min().unwrap_or(0);
        let most = scores.iter().map(|it| it.score).max().unwrap_or(0);
        for it in scores {
            let points = ((it.score - least) * NodeScore::MAX).checked_div(most - least);
            it.score = points.ok_or_else(|| Status::error("attempt to divide by zero"))?;
        }
        Ok(())
    }
}

struct Every(Real);

impl Score for Every {
    fn score(&self, _: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        Ok(i64::try_from(node.pods().len()).unwrap_or(i64::MAX))
    }

    fn normalize(&self, cx: Cycle<'_>, state: &CycleState, it: &mut [NodeScore<'_>]) -> Outcome {
        self.0.normalize(cx, state, it)
    }
}

struct Passes;

impl Filter for Passes {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        Ok(())
    }
}

struct Missing;

impl Score for Missing {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let equal = cx.pod.label("dataset") == node.label("cache/warm-for");
        Ok(if equal { NodeScore::MAX } else { NodeScore::MIN })
    }
}
