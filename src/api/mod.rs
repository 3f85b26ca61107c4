//! The `RepackRun` types of `repack.volcano.sh/v1alpha1` and the names that stand on other objects.
//!
//! May import: (nothing of this crate)
