"""The contracts against the Rust code they are taken from."""
