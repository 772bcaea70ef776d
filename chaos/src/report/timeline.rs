//! A picture of what happened around a violation: a row for each master and for each contender, a
//! column for a slice of time.

use std::{
    collections::{BTreeMap, HashSet},
    io::{self, Write},
    time::Duration,
};

use crate::{
    check::Violation,
    history::{Event, History, Record, Section, Worker, section_of},
    spans::Span,
    time::Time,
};

/// Draws the time around `violation`, and lists what was recorded then.
pub(super) fn write(
    out: &mut impl Write,
    history: &History,
    violation: &Violation,
) -> io::Result<()> {
    let window = window(violation.span);
    let start = history.weather.run.from;
    let secs = |at: Time| at.since(start).as_secs_f64();
    let lock = violation.lock.as_deref();
    writeln!(
        out,
        "{} from {:.3} s to {:.3} s, {:?} a column",
        lock.unwrap_or("all locks"),
        secs(window.from),
        secs(window.to),
        window.length() / COLUMNS
    )?;
    for (name, row) in rows(history, lock, window) {
        writeln!(out, "  {name:>10} {row}")?;
    }
    writeln!(out, "  {:>10} {}", "", Row::new(window).mark(violation.span, '^').text())?;
    writeln!(out, "  {LEGEND}\n")?;
    for record in records(history, lock, window).take(MOST_LISTED) {
        let at = record.at.since(start).as_secs_f64();
        writeln!(out, "  {at:>11.6} s  {}", describe(&record.event))?;
    }
    Ok(())
}

/// The span and something before and after it.
fn window(span: Span) -> Span {
    let margin = (span.length() / 4).max(MARGIN);
    Span::new(span.from - margin, span.to + margin)
}

fn rows(history: &History, lock: Option<&str>, window: Span) -> Vec<(String, String)> {
    let masters = history.weather.masters().iter().enumerate().map(|(i, outages)| {
        let row = Row::new(window).marks(outages.frozen.iter(), '=');
        (format!("master {i}"), row.marks(outages.killed.iter(), 'x').text())
    });
    let concerned = |section: &&Section| {
        lock.is_none_or(|lock| lock == section.lock) && lifetime(section).overlaps(window)
    };
    let mut lanes = BTreeMap::<_, Vec<_>>::new();
    for section in history.sections.iter().filter(concerned) {
        lanes.entry((section.id.worker, section.id.lane)).or_default().push(section);
    }
    let lanes = lanes.into_iter().map(|((worker, lane), sections)| {
        (format!("{worker}/{lane}"), lane_row(history, worker, &sections, window))
    });
    masters.chain(lanes).collect()
}

/// What is drawn later covers what was drawn before, and what matters most comes last.
fn lane_row(history: &History, worker: Worker, sections: &[&Section], window: Span) -> String {
    let mut row = Row::new(window).marks(sections.iter().map(|section| section.wait()), '~');
    row = row.marks(history.weather.stopped(worker).iter(), '=');
    row = row.marks(sections.iter().filter_map(|section| section.validity()), '#');
    for hold in sections.iter().filter_map(|section| section.hold.as_ref()) {
        row = row.marks(hold.lost.iter().map(|loss| Span::new(loss.at, loss.at)), 'L');
        let landed = hold.write.and_then(|write| write.landed);
        let mark = if landed > Some(hold.deadline) { '!' } else { 'W' };
        row = row.marks(landed.map(|at| Span::new(at, at)), mark);
    }
    let killed = |record: &&Record| record.event == Event::WorkerKilled { worker };
    let killed = history.records.iter().find(killed);
    row.marks(killed.map(|record| Span::new(record.at, record.at)), 'x').text()
}

fn lifetime(section: &Section) -> Span {
    let end = section.hold.as_ref().map_or(section.wait().to, |_| section.end_of_use());
    Span::new(section.asked, end)
}

fn records<'a>(
    history: &'a History,
    lock: Option<&'a str>,
    window: Span,
) -> impl Iterator<Item = &'a Record> {
    let concerned: HashSet<_> = history
        .sections
        .iter()
        .filter(move |section| lock.is_none_or(|lock| lock == section.lock))
        .map(|section| section.id)
        .collect();
    let inside = move |record: &&Record| window.from <= record.at && record.at <= window.to;
    history
        .records
        .iter()
        .filter(inside)
        .filter(move |record| section_of(&record.event).is_none_or(|id| concerned.contains(&id)))
}

fn describe(event: &Event) -> String {
    serde_json::to_string(event).expect("invariant: an event is plain data")
}

/// One line of the picture.
struct Row {
    window: Span,
    cells: Vec<char>,
}

impl Row {
    fn new(window: Span) -> Self {
        Self { window, cells: vec!['.'; COLUMNS as usize] }
    }

    /// Marks every column that the span touches; a span of no length has a column too.
    fn mark(mut self, span: Span, mark: char) -> Self {
        if span.to < self.window.from || span.from > self.window.to {
            return self;
        }
        let (first, last) = (self.column(span.from), self.column(span.to));
        self.cells.iter_mut().take(last + 1).skip(first).for_each(|cell| *cell = mark);
        self
    }

    fn marks(self, spans: impl IntoIterator<Item = Span>, mark: char) -> Self {
        spans.into_iter().fold(self, |row, span| row.mark(span, mark))
    }

    fn column(&self, at: Time) -> usize {
        let into = at.since(self.window.from).as_micros() * u128::from(COLUMNS);
        let column = into / self.window.length().as_micros().max(1);
        usize::try_from(column).unwrap_or(usize::MAX).min(self.cells.len() - 1)
    }

    fn text(self) -> String {
        self.cells.into_iter().collect()
    }
}

const LEGEND: &str = "~ waits  # holds  W writes  ! writes too late  L notices the loss  \
                      = stopped  x killed";
const COLUMNS: u32 = 100;
const MARGIN: Duration = Duration::from_millis(5);
const MOST_LISTED: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{self, story::Story};

    #[test]
    fn the_picture_shows_both_holders_and_the_fault() {
        let history = Story::new()
            .master_down(20, 70, 1)
            .section("w0.0/0#1", |s| s.asked(0).granted(10, 1_000).wrote(55, "").released(60))
            .section("w1.0/2#1", |s| s.asked(2).granted(40, 1_009).released(80))
            .section("w2.0/0#1", |s| s.on("red-b").asked(0).granted(10, 1_000).released(60))
            .stopped(62, 75, "w1.0")
            .history();
        let violations = check::violations(&history);
        let mut out = Vec::new();
        write(&mut out, &history, violations.first().unwrap()).unwrap();
        let text = String::from_utf8(out).unwrap();
        let row = |name: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
            line.trim_start().strip_prefix(name).unwrap().trim().to_owned()
        };
        assert!(row("master 1").contains("...===="));
        assert!(!row("master 0").contains('='));
        assert!(row("w0.0/0").contains("~~####"), "{text}");
        assert!(row("w0.0/0").contains("#W#"), "{text}");
        assert!(row("w1.0/2").contains("~~####"), "{text}");
        assert!(!text.contains("w2.0"), "{text}");
        assert!(text.contains("\"event\":\"master-down\""), "{text}");
    }

    #[test]
    fn marks_fall_into_the_columns_of_their_time() {
        let at = |ms: u64| Time::from_micros(ms * 1_000);
        let row = Row::new(Span::new(at(100), at(200)));
        let text = row.mark(Span::new(at(0), at(101)), 'a').mark(Span::new(at(150), at(150)), 'b');
        let text =
            text.mark(Span::new(at(199), at(900)), 'c').mark(Span::new(at(300), at(400)), 'd');
        let expected = format!("aa{}b{}c", ".".repeat(48), ".".repeat(48));
        assert_eq!(text.text(), expected);
    }
}
