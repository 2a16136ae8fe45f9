//! What must never happen.

macro_rules! wrongs {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal,)*) => {
        /// What has gone wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Wrong {
            $($(#[doc = $doc])* $name,)*
        }

        impl Wrong {
            /// All that can.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The rule that is broken.
            #[must_use]
            pub const fn rule(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

wrongs! {
    /// Two clients rely on holds that exclude each other.
    Exclusion = "exclusion",
    /// Redis has less for a holder than it relies on, or for a shorter time.
    CutShort = "no hold is cut short",
    /// A key without an expiry.
    Endless = "every key ends",
    /// After all leases something is left, or no client can acquire.
    NotFreed = "free after all leases",
    /// A reply that its script's header does not know, or an error.
    Reply = "well-formed replies",
    /// A token that is not above all before.
    Token = "tokens grow",
    /// Granted, but not there, or on top of holds that are gone.
    FalseGrant = "granted is true",
    /// Renewed, but not held.
    FalseRenewal = "renewed is true",
    /// A holder was notified of a loss that did not happen.
    FalseLoss = "lost is true",
    /// Refused although nothing is in the way.
    FalseRefusal = "refused is true",
    /// A reported time that is later than the lock became free.
    FalseTime = "reported time is true",
    /// Released, but something of the owner's is left, or less than reported was there.
    FalseRelease = "released is true",
    /// A waiter that could enter now was not notified.
    NotTold = "waiters are notified",
    /// A client overtook the first waiter.
    Overtaken = "no waiter is overtaken",
    /// A client that has entered is still in the line.
    StillWaits = "a waiter that enters leaves the line",
    /// A semaphore's permits do not add up.
    Permits = "permits add up",
    /// Several locks were not all granted, and something is held, or more than that is gone.
    Half = "all or none",
    /// Several locks together differ from each alone.
    AsAlone = "together as each alone",
    /// At the memory limit something was changed by a step that was refused, or a step was refused that
    /// needs no memory.
    Memory = "the memory limit refuses only what is new",
    /// What an operator reads of a lock is not what stands there.
    Inspected = "inspections are true",
    /// Something was written for invalid arguments.
    Arguments = "arguments are checked first",
}
