//! Every rule for a function and its options, one function each.

use lock_key::MIN_LEASE;
use syn::{Error, FnArg, PatType, Result, ReturnType, Type};

use crate::key::Key;
use crate::model::{Client, LockedFn, Mode};
use crate::statuses::OutcomeStatus;

impl LockedFn {
    /// Returns the error of the first broken rule.
    pub(crate) fn validate(&self) -> Result<()> {
        self.is_async()?;
        self.has_no_foreign_abi()?;
        self.lease_is_long_enough()?;
        self.max_hold_is_long_enough()?;
        self.name_is_a_name()?;
        self.only_writers_replace()?;
        self.one_key_has_one_kind()?;
        self.only_handlers_answer()?;
        self.hold_at_least_is_within_max_hold()?;
        self.only_jobs_run_once_per_slot()?;
        match self.client {
            Client::Layer | Client::State => {
                self.handler_takes_no_self()?;
                self.handler_takes_extractors()?;
                self.handler_has_a_lasting_argument()
            }
            Client::Given(_) => self.function_returns_something(),
        }
    }

    fn is_async(&self) -> Result<()> {
        let sig = &self.item.sig;
        if sig.asyncness.is_some() {
            return Ok(());
        }
        Err(Error::new(
            sig.fn_token.span,
            "`#[distributed_lock]` needs an `async fn`, because acquiring the lock may wait",
        ))
    }

    fn has_no_foreign_abi(&self) -> Result<()> {
        match &self.item.sig.abi {
            None => Ok(()),
            Some(abi) => Err(Error::new_spanned(abi, "a locked function cannot be `extern`")),
        }
    }

    fn lease_is_long_enough(&self) -> Result<()> {
        match self.lock.lease {
            Some(lease) if lease.value < MIN_LEASE => {
                Err(Error::new(lease.span, "this lease is too short; a lease is at least 100 ms"))
            }
            _ => Ok(()),
        }
    }

    fn max_hold_is_long_enough(&self) -> Result<()> {
        match self.lock.max_hold {
            Some(max_hold) if max_hold.value < MIN_LEASE => Err(Error::new(
                max_hold.span,
                "this `max_hold` is too short; it is at least 100 ms",
            )),
            _ => Ok(()),
        }
    }

    fn name_is_a_name(&self) -> Result<()> {
        let Some(name) = &self.lock.name else {
            return Ok(());
        };
        let text = name.value();
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(Error::new(
                name.span(),
                "a name is printable text, such as \"order-write\"",
            ));
        }
        Ok(())
    }

    fn only_writers_replace(&self) -> Result<()> {
        let writes = matches!(self.lock.mode, Mode::Write) && self.lock.permits.is_none();
        match self.lock.replace_after.filter(|_| !writes) {
            None => Ok(()),
            Some(replaces) => Err(Error::new(
                replaces.span,
                "only a writer replaces another call: a reader and a permit leave room for others",
            )),
        }
    }

    fn one_key_has_one_kind(&self) -> Result<()> {
        let keys = &self.lock.keys;
        for (nth, this) in keys.iter().enumerate() {
            let kind = |key: &Key| key.own.map(|own| own.kind);
            let others = keys[..nth].iter().filter(|other| kind(other) != kind(this));
            if let Some(key) = others.filter_map(|other| other.common_key(this)).next() {
                let text = format!(
                    "two of the locks can have the same key, such as `{key}`, and are of different kinds: \
                     begin the keys with different words"
                );
                return Err(Error::new(this.literal.span(), text));
            }
        }
        Ok(())
    }

    fn only_handlers_answer(&self) -> Result<()> {
        match (self.statuses.first(), &self.client) {
            (Some(OutcomeStatus { option, span, .. }), Client::Given(_)) => Err(Error::new(
                *span,
                format!(
                    "a function with `client = ...` returns the lock's error and not an answer: drop \
                     `{option}`, and set the status with `LockRejection::answer_status`"
                ),
            )),
            _ => Ok(()),
        }
    }

    fn hold_at_least_is_within_max_hold(&self) -> Result<()> {
        match (self.lock.hold_at_least, self.lock.max_hold) {
            (Some(least), Some(most)) if least.value > most.value => {
                Err(Error::new(least.span, "this is longer than `max_hold`, so it cannot be kept"))
            }
            _ => Ok(()),
        }
    }

    fn only_jobs_run_once_per_slot(&self) -> Result<()> {
        let Some(once_per) = &self.once_per else { return Ok(()) };
        let text = if !matches!(self.client, Client::Given(_)) {
            "a handler runs for each request: `once_per` is for a job, which is a function with \
             `client = ...` that each replica calls by its own timer"
        } else if self.lock.keys.len() > 1 {
            "a job that runs once per slot has one key: use `key`"
        } else if self.lock.permits.is_some() || matches!(self.lock.mode, Mode::Read) {
            "a job runs once per slot under a write lock: a reader and a permit leave room for others"
        } else if self.lock.hold_at_least.is_some() {
            "the slot stays marked until it ends: drop `hold_at_least`"
        } else {
            return Ok(());
        };
        Err(Error::new(once_per.span, text))
    }

    fn handler_takes_no_self(&self) -> Result<()> {
        match self.item.sig.receiver() {
            None => Ok(()),
            Some(receiver) => Err(Error::new_spanned(
                receiver,
                "a handler takes no `self`; on a method, name the client, such as \
                 `client = self.locks`",
            )),
        }
    }

    /// Without this rule a function without its `client` would become a handler, and the compiler would
    /// report an error at every caller.
    fn handler_takes_extractors(&self) -> Result<()> {
        match self.arguments().find(|argument| is_no_extractor(&argument.ty)) {
            None => Ok(()),
            Some(argument) => Err(Error::new_spanned(
                &argument.ty,
                "this type is not an Axum extractor; if the function is not a handler, name the \
                 client, such as `client = locks`",
            )),
        }
    }

    /// The client comes with the first argument, which a `cfg` must not remove.
    fn handler_has_a_lasting_argument(&self) -> Result<()> {
        let cfg = |argument: &PatType| {
            let is = |name: &str| argument.attrs.iter().any(|attr| attr.path().is_ident(name));
            is("cfg") || is("cfg_attr")
        };
        match self.arguments().find(|argument| cfg(argument)) {
            None => Ok(()),
            Some(argument) => Err(Error::new_spanned(
                argument,
                "an argument of a locked handler cannot depend on `cfg`; put the `cfg` on the \
                 function and write it twice",
            )),
        }
    }

    fn function_returns_something(&self) -> Result<()> {
        match &self.item.sig.output {
            ReturnType::Type(..) => Ok(()),
            ReturnType::Default => Err(Error::new(
                self.item.sig.ident.span(),
                "a function with `client = ...` returns a `Result` whose error implements \
                 `From<LockError>`, or Axum's `Response`: that is how it reports a lock that was not \
                 acquired, or was lost",
            )),
        }
    }

    fn arguments(&self) -> impl Iterator<Item = &PatType> {
        self.item.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(argument) => Some(argument),
            FnArg::Receiver(_) => None,
        })
    }
}

fn is_no_extractor(ty: &Type) -> bool {
    const PRIMITIVES: [&str; 16] = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64", "bool", "char",
    ];
    match ty {
        Type::Reference(_) => true,
        Type::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|name| PRIMITIVES.iter().any(|primitive| name == primitive)),
        _ => false,
    }
}
