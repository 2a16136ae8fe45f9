use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// A value for a placeholder of a lock's key.
///
/// Implement it for your own ids. Two things that need two locks must have different texts, and the
/// text must be the same in every replica of the service, for as long as a lock may be held.
///
/// It is not implemented for floats, whose equal values have several spellings, nor for
/// `Option`, so that a missing value cannot become a key shared by all requests without it.
///
/// # Examples
///
/// ```
/// use std::borrow::Cow;
///
/// use lock_key::KeyPart;
///
/// struct OrderId(u64);
///
/// impl KeyPart for OrderId {
///     fn key_part(&self) -> Cow<'_, str> {
///         Cow::Owned(self.0.to_string())
///     }
/// }
///
/// assert_eq!(OrderId(42).key_part(), "42");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a lock's key",
    label = "not a `KeyPart`",
    note = "integers, bool, char and strings can; name a field of it in the placeholder (`{{body.id}}`), or implement `KeyPart` for your own id",
    note = "a type that displays as a UUID needs the typed placeholder, such as `{{id:uuid}}`"
)]
pub trait KeyPart {
    /// Returns the text of this value before encoding: 1 to [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES)
    /// bytes, otherwise building the key fails.
    fn key_part(&self) -> Cow<'_, str>;
}

macro_rules! by_display {
    ($($ty:ty)*) => {$(
        impl KeyPart for $ty {
            fn key_part(&self) -> Cow<'_, str> {
                Cow::Owned(self.to_string())
            }
        }
    )*};
}

by_display!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize bool char);

macro_rules! by_deref {
    ($($ty:ty)*) => {$(
        impl<T: KeyPart + ?Sized> KeyPart for $ty {
            fn key_part(&self) -> Cow<'_, str> {
                (**self).key_part()
            }
        }
    )*};
}

by_deref!(&T &mut T Box<T> Rc<T> Arc<T>);

impl KeyPart for str {
    fn key_part(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

impl KeyPart for String {
    fn key_part(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

impl KeyPart for Cow<'_, str> {
    fn key_part(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}
