//! Has nothing: the tests of the attribute are this package.
