//! The commands of the program, one module for each.
//!
//! Used by `main`, which passes the parsed arguments to [`run`]. Shared helpers of commands are modules here too
//! (`follow`, `lookup`, `content`, `write_entry`). It does not parse arguments (`args` does).

mod accounts;
mod add;
mod add_json;
mod add_secret;
mod admission;
mod answer;
mod approve;
mod audit;
mod builtin;
mod call;
mod changed;
mod clients;
mod cluster;
mod complete;
mod completions;
mod connect;
mod console;
mod content;
mod decide;
mod doctor;
mod edit;
mod editor;
mod example;
mod follow;
mod former_catalogs;
mod get;
mod hub;
mod import;
mod install;
mod list;
mod listing;
mod login;
mod logout;
mod logs;
mod lookup;
mod pending;
mod permissions;
mod plugin;
mod probe;
mod prompt;
mod prompts;
mod questions;
mod read;
mod reconnect;
mod reject;
mod remove;
mod reset;
mod resources;
mod secret;
mod secret_moves;
mod self_uninstall;
mod serve;
mod server_summary;
mod server_variables;
mod setup;
mod skill;
mod skills;
mod status;
mod stop;
mod switch;
mod token;
mod tools;
mod top;
mod undo;
mod uninstall;
mod version;
mod write_entry;
mod xaa;

pub(crate) use token::failed as token_failed;

use switchboard_config::{Desired, ServerSwitch};
use switchboard_hub::attach::AttachOptions;

use crate::{
    args::{Args, Command, Global, SelfCommand},
    notice::Notice,
    printer::Printer,
    report::Failure,
    surroundings::Caller,
};

/// The caller, and how its client is attached to the hub.
fn attached(global: &Global) -> Result<(Caller, AttachOptions), Failure> {
    let caller = Caller::new(global)?;
    let options = connect::attach_options(global, &caller)?;
    Ok((caller, options))
}

/// Runs the command of `args`.
pub(crate) async fn run(args: Args, printer: &Printer) -> Result<(), Failure> {
    let caller = || Caller::new(&args.global);
    let ready = || Caller::with_catalogue(&args.global);
    match &args.command {
        Command::Add(add) => add::run(add, &caller()?, printer),
        Command::AddJson(add) => add_json::run(add, &caller()?, printer),
        Command::Remove(remove) => remove::run(remove, &caller()?, printer),
        Command::List(list) => list::run(list, &ready().await?, printer).await,
        Command::Serve(serve) => serve::run(serve, &ready().await?, printer).await,
        Command::Connect(connect) if args.global.is_alone() => {
            connect::standalone(connect, &ready().await?, printer).await
        }
        Command::Connect(connect) => connect::run(connect, &args.global, caller()?, printer).await,
        Command::Hub(_) => hub::run(&ready().await?).await,
        Command::Cluster(command) => cluster::run(command, printer).await,
        Command::Token(token) => token::run(token, &caller()?, printer).await,
        Command::Secret(secret) => secret::run(secret, &caller()?, printer),
        Command::Ui(ui) => {
            let (caller, options) = attached(&args.global)?;
            crate::ui::run(ui, &args.global, &caller, options).await
        }
        Command::Top(top) => {
            let (caller, options) = attached(&args.global)?;
            top::run(top, &args.global, &caller, options, printer).await
        }
        Command::Console(console) => {
            let (caller, options) = attached(&args.global)?;
            console::run(console, &caller, &options, printer).await
        }
        Command::Status => status::run(&caller()?, printer).await,
        Command::Stop => stop::run(&caller()?, printer).await,
        Command::Questions(asked) => questions::run(asked, &caller()?, printer).await,
        Command::Answer(given) => answer::run(given, &caller()?, printer).await,
        Command::Permissions(asked) => permissions::run(asked, &caller()?, printer).await,
        Command::Tools(tools) => tools::run(tools, &ready().await?, printer).await,
        Command::Call(call) => call::run(call, &ready().await?, printer).await,
        Command::Resources(of) => resources::run(of, &ready().await?, printer).await,
        Command::Read(read) => read::run(read, &ready().await?, printer).await,
        Command::Prompts(of) => prompts::run(of, &ready().await?, printer).await,
        Command::Prompt(prompt) => prompt::run(prompt, &ready().await?, printer).await,
        Command::Skills(of) => skills::run(of, &ready().await?, printer).await,
        Command::Skill(skill) => skill::run(skill, &ready().await?, printer).await,
        Command::Complete(complete) => complete::run(complete, &ready().await?, printer).await,
        Command::Reconnect(server) => reconnect::run(server, &ready().await?, printer).await,
        Command::Login(login) => login::run(login, &ready().await?, printer).await,
        Command::Logout(logout) => logout::run(logout, &caller()?, printer).await,
        Command::Accounts => accounts::run(&caller()?, printer),
        Command::Xaa(xaa) => xaa::run(xaa, &caller()?, printer).await,
        Command::Logs(logs) => logs::run(logs, &caller()?, printer).await,
        Command::Doctor(doctor) => doctor::run(doctor, &ready().await?, printer).await,
        Command::Get(get) => get::run(get, &caller()?, printer),
        Command::Edit(edit) => edit::run(edit, &caller()?, printer),
        Command::Enable(switch) => switch::run(switch, ServerSwitch::On, &caller()?, printer),
        Command::Disable(switch) => switch::run(switch, ServerSwitch::Off, &caller()?, printer),
        Command::Approve(approve) => approve::run(approve, &caller()?, printer),
        Command::Reject(named) => reject::run(named, &caller()?, printer),
        Command::ResetProjectChoices => reset::run(&caller()?, printer),
        Command::Import(import) => import::run(import, &caller()?, printer),
        Command::Install(install) => install::run(install, &args.global, &caller()?, printer),
        Command::Uninstall(uninstall) => uninstall::run(uninstall, &caller()?, printer),
        Command::Setup(setup) if setup.undo => undo::run(setup, &caller()?, printer),
        Command::Setup(setup) => setup::run(setup, &args.global, &caller()?, printer),
        Command::Clients => clients::run(&caller()?, printer).await,
        Command::SelfManagement(SelfCommand::Uninstall(uninstall)) => {
            self_uninstall::run(uninstall, &caller()?, printer).await
        }
        Command::Plugin(plugin) => plugin::run(plugin, &caller()?, printer).await,
        Command::Probe(probe) => Box::pin(probe::run(probe, &caller()?, printer)).await,
        Command::Completions { shell } => completions::run(*shell, printer),
        Command::Version => version::run(printer),
        Command::Builtin => builtin::run().await,
    }
}

/// All problems of the configuration, as notices.
fn problems(desired: &Desired) -> Vec<Notice> {
    desired.problems.iter().map(Notice::from).collect()
}
