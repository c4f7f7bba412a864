//! `cargo xtask lab run`: lab pages as tests.

mod compare;
mod kubectl;
mod options;
mod page;
mod terminal;

use std::{
    ffi::OsString,
    fs,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use anstream::{eprintln, println};
use anyhow::Context as _;

pub(crate) use options::Options;
use page::{Page, Step, Window};
use terminal::{Background, Shell};

use crate::{Programs, UserError, signals::Stop};

/// How long one step may take.
const STEP_PATIENCE: Duration = Duration::from_mins(20);
/// How long what a running program shows may take to appear.
const SHOW_PATIENCE: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs the pages one after another, each on a lab cluster of its own.
pub(crate) async fn run(options: Options, programs: Programs) -> anyhow::Result<ExitCode> {
    let pages = page::find(&programs.root.join("labs"), &options.pages)?;
    if options.dry_run {
        for step in pages.iter().flat_map(|it| &it.steps) {
            println!("{}", step.commands);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut stop = Stop::listen()?;
    refuse_a_running_lab(&programs)?;
    // Pages write there, wherever cargo builds.
    let scratch = programs.root.join("target");
    fs::create_dir_all(&scratch)
        .with_context(|| format!("cannot make the folder {}", scratch.display()))?;
    let needed = pages.iter().any(Page::needs_kubectl);
    let kubectl = if needed { Some(kubectl::find()?) } else { None };
    let mut failed = 0;
    for page in &pages {
        let begun = Instant::now();
        eprintln!("{} …", page.file);
        let mut desk = Desk::sit_down(&programs, kubectl.as_ref(), options.verbose)?;
        let outcome = tokio::select! {
            code = stop.wanted() => {
                eprintln!("Stopping; the lab cluster is being removed.");
                desk.leave().await?;
                return Ok(code);
            }
            outcome = desk.work_through(page) => outcome,
        };
        let left_up = desk.leave().await?;
        let seconds = begun.elapsed().as_secs();
        match outcome? {
            None if left_up => {
                failed += 1;
                println!("{}: FAILED: its last step leaves the lab cluster up", page.file);
            }
            None => println!("{}: {} steps as shown, {seconds} s", page.file, page.steps.len()),
            Some(difference) => {
                failed += 1;
                println!("{difference}");
            }
        }
    }
    println!("{} passed, {failed} failed", pages.len() - failed);
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// A page's cluster must be fresh.
fn refuse_a_running_lab(programs: &Programs) -> anyhow::Result<()> {
    if !lab_is_up(programs)? {
        return Ok(());
    }
    let text = "a lab cluster is already running in target/lab, and a page needs a fresh one.\n\nhint: stop it with `cargo xtask lab down`";
    Err(UserError(text.to_owned()).into())
}

fn lab_is_up(programs: &Programs) -> anyhow::Result<bool> {
    let mut command = Command::new(&programs.lab);
    command.arg("status").current_dir(&programs.root);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().context("cannot run `lab status`")?.success())
}

/// What a learner has in front of them: two terminals.
struct Desk<'a> {
    programs: &'a Programs,
    environment: Vec<(OsString, OsString)>,
    first: Shell,
    second: Option<Background>,
    verbose: bool,
}

impl<'a> Desk<'a> {
    fn sit_down(
        programs: &'a Programs,
        kubectl: Option<&kubectl::Kubectl>,
        verbose: bool,
    ) -> anyhow::Result<Self> {
        let environment = terminal::environment(programs, kubectl.map(kubectl::Kubectl::folder))?;
        let first = Shell::open(&programs.root, &environment)?;
        Ok(Self { programs, environment, first, second: None, verbose })
    }

    /// Types the page's commands; the first difference ends it.
    async fn work_through(&mut self, page: &Page) -> anyhow::Result<Option<String>> {
        for step in &page.steps {
            if self.verbose {
                eprintln!("$ {}", step.commands);
            }
            let difference = match step.window {
                Window::First => self.in_first(step).await,
                Window::Second => self.in_second(step).await,
            };
            let place = || format!("{}:{}", page.file, step.line);
            let difference = difference.with_context(place)?;
            if let Some(what) = difference {
                let (place, commands) = (place(), indent(&step.commands));
                return Ok(Some(format!("{place}: FAILED: {what}\n\nthe commands:\n{commands}")));
            }
        }
        Ok(None)
    }

    async fn in_first(&mut self, step: &Step) -> anyhow::Result<Option<String>> {
        let typed = tokio::time::timeout(STEP_PATIENCE, self.first.run(&step.commands)).await;
        let Ok(typed) = typed else {
            return Ok(Some(format!("not done after {} s", STEP_PATIENCE.as_secs())));
        };
        let (status, output) = typed?;
        if self.verbose {
            eprintln!("{output}");
        }
        if (status != 0) != step.fails {
            let wanted = if step.fails { "a failure was expected" } else { "it failed" };
            let output = indent(&output);
            return Ok(Some(format!("{wanted}; the exit code is {status}. It printed:\n{output}")));
        }
        Ok(step.expected.as_deref().and_then(|it| compare::difference(it, &output)))
    }

    /// Starts the commands in the second terminal, after a Ctrl-C for those before.
    async fn in_second(&mut self, step: &Step) -> anyhow::Result<Option<String>> {
        if let Some(difference) = self.interrupt_second()? {
            return Ok(Some(difference));
        }
        if step.commands.trim() == page::CTRL_C {
            return Ok(None);
        }
        let started = Background::start(&self.programs.root, &self.environment, &step.commands)?;
        let second = self.second.insert(started);
        let Some(expected) = &step.expected else { return Ok(None) };
        let begun = Instant::now();
        loop {
            let difference = compare::difference(expected, &second.output()?);
            if difference.is_none() || begun.elapsed() > SHOW_PATIENCE {
                return Ok(difference);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn interrupt_second(&mut self) -> anyhow::Result<Option<String>> {
        let Some(mut second) = self.second.take() else { return Ok(None) };
        let stopped = second.interrupt();
        if self.verbose {
            eprintln!("second terminal:\n{}", second.output()?);
        }
        Ok(stopped.err().map(|error| format!("{error:#}")))
    }

    /// Ends what runs; says whether the page left its lab cluster up.
    async fn leave(mut self) -> anyhow::Result<bool> {
        let stopped = self.interrupt_second();
        self.first.close().await?;
        let is_up = lab_is_up(self.programs)?;
        if is_up {
            let mut command = Command::new(&self.programs.lab);
            command.arg("down").current_dir(&self.programs.root).stdin(Stdio::null());
            let output = command.output().context("cannot run `lab down`")?;
            if !output.status.success() {
                eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            }
        }
        stopped?;
        Ok(is_up)
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|it| format!("    {it}")).collect::<Vec<_>>().join("\n")
}
