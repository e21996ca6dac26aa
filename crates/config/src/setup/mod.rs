//! Moving all clients of a machine over to this program, and back.
//!
//! Used by the commands `setup`, `clients`, `status` and `doctor`. A plan is made from files and changes nothing
//! ([`plan_setup`]). Carrying it out ([`carry_out`]) imports the servers of clients' user files into the user
//! scope, installs our entry in each client, and then removes the servers from the client's files. Everything
//! that is needed to go back is in one private file before a client's file changes. [`plan_undo`] and
//! [`UndoPlan::carry_out`] go back. It does not change files of a project.

mod carry_out;
mod client_overview;
mod file_change;
mod plan;
mod record;
mod secret_transfer;
mod undo;

pub use carry_out::{ClientFailure, SetupOutcome, carry_out};
pub use client_overview::{ClientOverview, ClientPresence, OurEntry, ProgramMatch, find_program};
pub use file_change::{MemberValue, PlannedFile};
pub use plan::{
    ClientPlan, ServerCopies, ServerPlace, SetupObstacle, SetupOptions, SetupPlan, plan_setup,
};
pub use secret_transfer::{SecretFate, SecretTransfer, SecretUndo};
pub use undo::{FileUndo, RetentionReason, UndoMethod, UndoOutcome, UndoPlan, plan_undo};
