//! Rust types that typify generates from the published draft-07 schemas, as a third party would: without
//! settings and without knowledge of the declaration. This crate compiles only if the generated types are valid
//! Rust. Its tests decode the examples and the recordings.

#![allow(missing_docs, clippy::all, unused_qualifications, irrefutable_let_patterns)]

pub mod pi_server {
    typify::import_types!("../../sdk-rust/schema/pi@0.55/server.draft-07.json");
}
pub mod pi_client {
    typify::import_types!("../../sdk-rust/schema/pi@0.55/client.draft-07.json");
}
pub mod omp_server {
    typify::import_types!("../../sdk-rust/schema/omp@12.7/server.draft-07.json");
}
pub mod omp_client {
    typify::import_types!("../../sdk-rust/schema/omp@12.7/client.draft-07.json");
}
pub mod pisces_server {
    typify::import_types!("../../sdk-rust/schema/pisces@13.18/server.draft-07.json");
}
pub mod pisces_client {
    typify::import_types!("../../sdk-rust/schema/pisces@13.18/client.draft-07.json");
}
pub mod operator_server {
    typify::import_types!("../../sdk-rust/schema/operator@seed/server.draft-07.json");
}
pub mod operator_client {
    typify::import_types!("../../sdk-rust/schema/operator@seed/client.draft-07.json");
}
pub mod opal_server {
    typify::import_types!("../../sdk-rust/schema/opal@0.1/server.draft-07.json");
}
pub mod opal_client {
    typify::import_types!("../../sdk-rust/schema/opal@0.1/client.draft-07.json");
}
