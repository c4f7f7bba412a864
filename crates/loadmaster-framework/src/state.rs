//! What plugins remember: within a cycle, and between cycles.

use std::{
    any::{Any, TypeId, type_name},
    collections::BTreeMap,
    fmt::Debug,
};

use super::{Outcome, PluginError};

/// Anything a plugin may leave in a [`CycleState`]. Implemented for every fitting type.
pub trait StateData: Any + Debug + Send + Sync {
    /// A copy for a what-if cycle, so that preemption's trials leave no trace.
    fn fork(&self) -> Box<dyn StateData>;
    /// Upcast used by [`CycleState::get`].
    fn as_any(&self) -> &dyn Any;
    /// Upcast used by [`CycleState::get_mut`].
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Any + Clone + Debug + Send + Sync> StateData for T {
    fn fork(&self) -> Box<dyn StateData> {
        Box::new(self.clone())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// One pod's scratch space for one cycle, keyed by type: no string keys, no casts in plugins.
///
/// Points that may write take `&mut CycleState`; points that run for many nodes at once take
/// `&CycleState`. The compiler thus keeps the rule that upstream leaves to its comments.
#[derive(Debug, Default)]
pub struct CycleState(BTreeMap<TypeId, Box<dyn StateData>>);

impl CycleState {
    /// Stores `value`, replacing an earlier one of its type.
    pub fn put<T: StateData>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// Reads the value of type `T`.
    ///
    /// # Errors
    /// [`PluginError::MissingState`] if no earlier point of this cycle stored one.
    pub fn get<T: StateData>(&self) -> Outcome<&T> {
        self.try_get().ok_or_else(|| PluginError::MissingState(type_name::<T>()).into())
    }

    /// Reads the value of type `T`, if an earlier point stored one: for a plugin that may be
    /// enabled without its earlier point.
    pub fn try_get<T: StateData>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>()).and_then(|it| (**it).as_any().downcast_ref())
    }

    /// The value of type `T`, to change it.
    pub fn get_mut<T: StateData>(&mut self) -> Option<&mut T> {
        self.0.get_mut(&TypeId::of::<T>()).and_then(|it| (**it).as_any_mut().downcast_mut())
    }

    /// A deep copy for a what-if.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self(self.0.iter().map(|(id, it)| (*id, (**it).fork())).collect())
    }
}

/// What one plugin of one profile keeps between cycles: a value of a type of its own.
///
/// Plugins hold configuration only; what changes lives here, so that a scheduler can be forked and
/// replayed.
#[derive(Debug, Default)]
pub struct Slot(Option<Box<dyn StateData>>);

impl Slot {
    /// The kept value, made by `Default` when there is none (or one of another type).
    pub fn get_or_default<T: StateData + Default>(&mut self) -> &mut T {
        if self.get::<T>().is_none() {
            self.0 = Some(Box::new(T::default()));
        }
        self.0
            .as_mut()
            .and_then(|it| (**it).as_any_mut().downcast_mut())
            .expect("the value was just stored with this type")
    }

    /// The kept value, if it is of type `T`.
    pub fn get<T: StateData>(&self) -> Option<&T> {
        self.0.as_ref().and_then(|it| (**it).as_any().downcast_ref())
    }

    /// A deep copy.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self(self.0.as_ref().map(|it| (**it).fork()))
    }
}
