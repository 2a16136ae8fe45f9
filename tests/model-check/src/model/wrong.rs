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
    /// Two believe who may not.
    Exclusion = "exclusion",
    /// Redis has less for a holder than it believes, or for a shorter time.
    CutShort = "no hold is cut short",
    /// A key that stays for ever.
    Endless = "every key ends",
    /// After all leases something is left, or nobody gets in.
    NotFreed = "free after all leases",
    /// A reply that its script's header does not know, or an error.
    Reply = "well-formed replies",
    /// A token that is not above all before.
    Token = "tokens grow",
    /// Granted, but not there, or on top of holds that are gone.
    FalseGrant = "granted is true",
    /// Renewed, but not held.
    FalseRenewal = "renewed is true",
    /// A holder was told that it had lost.
    FalseLoss = "lost is true",
    /// Refused, but nobody is in the way.
    FalseRefusal = "refused is true",
    /// Told a time after which nobody has looked at a lock that was free long before.
    FalseTime = "told time is true",
    /// Released, and something of the owner's stands; or less than said was there.
    FalseRelease = "released is true",
    /// Who could enter now was not told.
    NotTold = "waiters are told",
    /// Somebody went past one who was first.
    Overtaken = "nobody is overtaken",
    /// Who has entered stands in line.
    StillWaits = "who enters leaves the line",
    /// A semaphore's permits do not add up.
    Permits = "permits add up",
    /// Of several that were not all granted something is held, or more than that is gone.
    Half = "all or none",
    /// Several together are something else than each alone.
    AsAlone = "together as each alone",
    /// Something was written for arguments that are none.
    Arguments = "arguments are checked first",
}
