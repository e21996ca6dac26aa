//! `cargo xtask dist`: the packages of a release, made from a built program.
//!
//! Used by releases; a test of the program makes all packages of the debug build. Files of equal content come out
//! equal, byte for byte: times are those of `SOURCE_DATE_EPOCH`, else of the last commit, and no file holds a path of
//! this machine. It does not publish anything.

mod archive;
mod container;
mod deb;
mod guided_build;
mod homebrew;
mod man_page;
mod package_tree;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::args::Args;
use crate::command::{cargo, output, run as run_command};
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

use archive::{TarFile, gzip, tar};
use package_tree::{PackageTree, Packaging};

pub(crate) use guided_build::program;

/// The separator of compiler flags in the variable that cargo reads.
const FLAG_SEPARATOR: &str = "\u{1f}";

/// What to package, and where to.
struct Options {
    program: PathBuf,
    out: PathBuf,
    /// Where the files will be downloaded from.
    url: Option<String>,
}

/// A release: what all packages are made from.
struct Release {
    version: String,
    /// The target triple, such as `x86_64-unknown-linux-gnu`.
    target: String,
    /// The time of every file, in seconds since 1970.
    epoch: u64,
    /// The program's file.
    program: PathBuf,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let Options { program, out, url } = options(args)?;
    let release = Release::of(program)?;
    if out.exists() {
        fs::remove_dir_all(&out).about("remove", &out)?;
    }
    fs::create_dir_all(&out).about("create", &out)?;
    let mut files = vec![release.write_archive(&out)?, deb::write(&release, &out)?];
    files.push(sbom::write(&release, &out)?);
    container::write(&release, &out)?;
    files.extend(release.write_source(&out, url.as_deref())?);
    let sums = out.join("SHA256SUMS");
    fs::write(&sums, checksums(&files)?).about("write", &sums)?;
    println!("{}", out.display());
    Ok(())
}

fn options(mut args: Args) -> Result<Options> {
    let from: Option<PathBuf> = args.value("--from")?;
    let out: Option<PathBuf> = args.value("--out")?;
    let url = args.value("--url")?;
    let is_guided = args.flag("--profile");
    args.end()?;
    let program = match from {
        Some(program) if !is_guided => program,
        Some(_) => return Err(Failure::new("`--from` and `--profile` exclude each other")),
        None if is_guided => guided_build::build_guided()?,
        None => build_release(&paths::target().join("dist/build"), None)?,
    };
    let out = out.unwrap_or_else(|| paths::target().join("dist/packages"));
    Ok(Options { program, out, url })
}

/// Builds the program, with a further compiler flag. The paths of this machine, which messages of panics would hold, are
/// replaced.
fn build_release(folder: &Path, flag: Option<&str>) -> Result<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").map_or(home.join(".cargo"), PathBuf::from);
    let flags = [(cargo_home, "/cargo"), (paths::root(), "/switchboard")];
    let flags = flags.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(flag).collect();
    let mut build = cargo(&["build", "--release", "--locked", "-p", "switchboard-cli"]);
    build
        .arg("--target-dir")
        .arg(folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join(FLAG_SEPARATOR));
    run_command(&mut build)?;
    Ok(folder.join("release/switchboard"))
}

/// The lines of `SHA256SUMS`, as `sha256sum --check` reads them.
fn checksums(files: &[PathBuf]) -> Result<String> {
    let mut lines: Vec<_> = files
        .iter()
        .map(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            Ok(format!("{}  {name}\n", checksum(file)?))
        })
        .collect::<Result<_>>()?;
    lines.sort_by(|one, other| one[64..].cmp(&other[64..]));
    Ok(lines.concat())
}

fn checksum(file: &Path) -> Result<String> {
    let content = fs::read(file).about("read", file)?;
    let digest = Sha256::digest(content);
    Ok(digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

// === impl Release ===

impl Release {
    fn of(program: PathBuf) -> Result<Self> {
        let said = output(Command::new(&program).arg("--version"))?;
        let version = said.split_whitespace().last().unwrap_or_default().to_owned();
        let about = output(Command::new("rustc").arg("-vV"))?;
        let target = about.lines().find_map(|line| line.strip_prefix("host: "));
        let target = target.ok_or_else(|| Failure::new("rustc does not name its target"))?;
        Ok(Self { version, target: target.to_owned(), epoch: epoch()?, program })
    }

    /// The name of an archive without its ending.
    fn name(&self) -> String {
        format!("switchboard-{}-{}", self.version, self.target)
    }

    fn write_archive(&self, out: &Path) -> Result<PathBuf> {
        let name = self.name();
        let tree = PackageTree::of(self, Packaging::Archive)?;
        let prefixed = tree
            .files
            .into_iter()
            .map(|file| TarFile { path: format!("{name}/{}", file.path), ..file });
        let path = out.join(format!("{name}.tar.gz"));
        let content = gzip(&tar(&prefixed.collect::<Vec<_>>(), self.epoch)?)?;
        fs::write(&path, content).about("write", &path)?;
        Ok(path)
    }

    /// Writes the source archive and the Homebrew formula, which builds from it.
    fn write_source(&self, out: &Path, url: Option<&str>) -> Result<Vec<PathBuf>> {
        let name = format!("switchboard-{}", self.version);
        let path = out.join(format!("{name}-source.tar.gz"));
        let mut archive = Command::new("git");
        archive.current_dir(paths::root()).args(["archive", "--format=tar"]);
        archive.arg(format!("--prefix={name}/")).arg("HEAD");
        let packed =
            archive.output().map_err(|why| Failure::new("cannot start git").because(why))?;
        if !packed.status.success() {
            println!("no source archive and no Homebrew formula: this is not a git repository");
            return Ok(Vec::new());
        }
        fs::write(&path, gzip(&packed.stdout)?).about("write", &path)?;
        match url {
            Some(url) => homebrew::write(self, &path, url, out)?,
            None => println!("no Homebrew formula: say with `--url` where the files will be"),
        }
        Ok(vec![path])
    }
}

/// `SOURCE_DATE_EPOCH`, else the time of the last commit, else 1970.
fn epoch() -> Result<u64> {
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        let wrong = |why| Failure::new("SOURCE_DATE_EPOCH is not a number of seconds").because(why);
        return text.trim().parse().map_err(wrong);
    }
    let mut git = Command::new("git");
    git.current_dir(paths::root()).args(["log", "-1", "--format=%ct"]);
    Ok(output(&mut git).ok().and_then(|time| time.trim().parse().ok()).unwrap_or_default())
}
