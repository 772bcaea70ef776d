//! A page with a picture of a run: a lane for each master and each contender, the first violation in
//! the middle. What is hovered over says what it is. Needs nothing from elsewhere.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use crate::{
    check::Violation,
    history::{Event, History, Section, Worker},
    profile,
    spans::Span,
    time::Time,
};

/// The whole page.
pub(super) fn html(history: &History, violation: Option<&Violation>) -> String {
    let seed = history.settings.seed;
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"/><title>palisade chaos, seed {seed}</title>\n\
         <style>:root {{ color-scheme: light dark }} body {{ margin: 1em }} svg {{ width: 100%; height: auto }}</style></head>\n\
         <body>\n{}</body>\n</html>\n",
        svg(history, violation)
    )
}

/// The picture, of as much of the time as leaves it of a bearable size.
fn svg(history: &History, violation: Option<&Violation>) -> String {
    let mut window = violation.map_or(history.weather.run, |found| around(found.span));
    loop {
        let drawn = Picture::new(history, violation, window).draw();
        if drawn.len() <= MOST_BYTES {
            return drawn;
        }
        let quarter = window.length() / 4;
        window = Span::new(window.from + quarter, window.to - quarter);
    }
}

/// The span in the middle of as much again, or of what is long enough to see how it came.
fn around(span: Span) -> Span {
    let middle = span.from + span.length() / 2;
    let half = span.length().max(LEAST_WINDOW / 2);
    Span::new(middle - half, middle + half)
}

/// What is drawn so far.
struct Picture<'a> {
    history: &'a History,
    violation: Option<&'a Violation>,
    window: Span,
    /// Each has a colour, by its place.
    locks: Vec<&'a str>,
    marks: String,
    /// Where the next lane begins.
    y: u32,
}

impl<'a> Picture<'a> {
    fn new(history: &'a History, violation: Option<&'a Violation>, window: Span) -> Self {
        let lock = violation.and_then(|found| found.lock.as_deref());
        let locks = history.by_lock().map(|(lock, _)| lock);
        let locks = locks.filter(|known| lock.is_none_or(|lock| lock == *known)).collect();
        Self { history, violation, window, locks, marks: String::new(), y: TOP }
    }

    fn draw(mut self) -> String {
        self.faults();
        self.masters();
        let contenders = self.y;
        self.contenders();
        let bottom = self.y;
        let axis = self.axis(bottom);
        let band = self.violation.map_or_else(String::new, |found| {
            let (x, width) = self.place(found.span).unwrap_or_default();
            let what = escape(&found.what);
            format!(
                "<rect class=\"violation\" x=\"{x:.1}\" y=\"{contenders}\" width=\"{width:.1}\" \
                 height=\"{}\"><title>{what}</title></rect>\n",
                bottom - contenders
            )
        });
        let (heading, legend) = (self.heading(), self.legend(bottom + 42));
        let height = bottom + 56;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\">\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n\
             {heading}{axis}{band}{}{legend}</svg>\n",
            self.marks
        )
    }

    fn heading(&self) -> String {
        let settings = &self.history.settings;
        let planted = settings.planted.as_ref().map(|planted| format!(", planted {planted}"));
        let run = format!(
            "palisade chaos, seed {}, {}, {} workers{}",
            settings.seed,
            profile::of(settings).words(settings),
            settings.workers,
            planted.unwrap_or_default()
        );
        let found = self.violation.map_or_else(
            || "no violation".to_owned(),
            |found| format!("{}: {}", found.invariant, found.what),
        );
        let class = if self.violation.is_some() { "bad" } else { "strong" };
        format!(
            "<text x=\"16\" y=\"24\">{}</text>\n<text class=\"{class}\" x=\"16\" y=\"44\">{}</text>\n",
            escape(&run),
            escape(&found)
        )
    }

    /// When each fault was begun.
    fn faults(&mut self) {
        self.lane("faults");
        let mut free_from = 0.0;
        for record in &self.history.records {
            let Event::FaultBegan { fault, victims } = &record.event else { continue };
            let Some((x, _)) = self.place(Span::new(record.at, record.at)) else { continue };
            self.rect("fault", (x, 3.0), 4, 12, &format!("{fault}: {}", victims.join(", ")));
            if x >= free_from {
                let (y, text) = (self.y - 6, escape(fault));
                self.add(format_args!(
                    "<text class=\"small\" x=\"{:.1}\" y=\"{y}\">{text}</text>",
                    x + 6.0
                ));
                free_from = x + 12.0 + 7.0 * fault.len() as f64;
            }
        }
    }

    fn masters(&mut self) {
        for (i, outages) in self.history.weather.masters().iter().enumerate() {
            self.lane(&format!("master {i}"));
            let kinds = [
                ("quarantined", "no vote", &outages.quarantined),
                ("frozen", "does not answer", &outages.frozen),
                ("killed", "killed", &outages.killed),
            ];
            for (class, what, spans) in kinds {
                spans.iter().for_each(|span| self.span(class, span, (4, 12), what));
            }
        }
    }

    /// Those that wanted the lock of the violation, or any; what took the place of a killed worker
    /// goes on in its lane.
    fn contenders(&mut self) {
        let mut lanes = BTreeMap::<_, Vec<_>>::new();
        let drawn = |section: &&Section| self.locks.contains(&section.lock.as_str());
        for section in self.history.sections.iter().filter(drawn) {
            lanes.entry((section.id.worker.place, section.id.lane)).or_default().push(section);
        }
        for ((place, lane), sections) in lanes {
            self.lane(&format!("w{place}/{lane}"));
            self.worker(place);
            sections.into_iter().for_each(|section| self.section(section));
        }
    }

    /// What was done to the process.
    fn worker(&mut self, place: u32) {
        for record in &self.history.records {
            match record.event {
                Event::WorkerStopped { worker } if worker.place == place => {
                    self.stopped(worker, record.at);
                }
                Event::WorkerKilled { worker } if worker.place == place => {
                    let at = Span::new(record.at, record.at);
                    self.span("killed", at, (2, 16), &format!("{worker} is killed"));
                }
                _ => {}
            }
        }
    }

    /// Until it goes on, or is gone for good.
    fn stopped(&mut self, worker: Worker, since: Time) {
        let ends = |event: &Event| match event {
            Event::WorkerContinued { worker: who }
            | Event::WorkerKilled { worker: who }
            | Event::WorkerEnded { worker: who, .. } => *who == worker,
            _ => false,
        };
        let records = &self.history.records;
        let later = records.get(records.partition_point(|it| it.at < since)..).unwrap_or_default();
        let end = later.iter().find(|it| ends(&it.event));
        let end = end.map_or(self.window.to, |record| record.at);
        self.span("frozen", Span::new(since, end), (2, 16), &format!("{worker} is stopped"));
    }

    fn section(&mut self, section: &Section) {
        let (id, lock) = (section.id, &section.lock);
        self.span("wait", section.wait(), (8, 3), &format!("{id} waits for {lock}"));
        let (Some(hold), Some(validity)) = (&section.hold, section.validity()) else { return };
        let token = hold.tokens.first().map(|token| format!(", token {token}"));
        let what = format!("{id} holds {lock}{}", token.unwrap_or_default());
        let colour = self.locks.iter().position(|known| known == lock).unwrap_or_default();
        self.span(&format!("lock{}", colour % COLOURS), validity, (4, 12), &what);
        if let Some(token) = hold.tokens.first() {
            self.token(validity, *token);
        }
        if let Some(landed) = hold.write.and_then(|write| write.landed) {
            // Short, so that a short hold is seen behind it.
            let (class, rows, how) = match landed > hold.deadline {
                true => ("late", (2, 16), "writes too late"),
                false => ("write", (12, 6), "writes"),
            };
            self.span(class, Span::new(landed, landed), rows, &format!("{id} {how}"));
        }
        if let Some(loss) = &hold.lost {
            let at = Span::new(loss.at, loss.at);
            self.span(
                "lost",
                at,
                (2, 16),
                &format!("{id} learns that {lock} is lost: {}", loss.cause),
            );
        }
    }

    /// Its last digits, where there is room for them.
    fn token(&mut self, hold: Span, token: u64) {
        let Some((x, width)) = self.place(hold) else { return };
        if width > 30.0 {
            let (x, y, digits) = (x + 3.0, self.y - LANE + 14, token % 10_000);
            self.add(format_args!(
                "<text class=\"token\" x=\"{x:.1}\" y=\"{y}\">{digits:04}</text>"
            ));
        }
    }

    /// Begins the next one.
    fn lane(&mut self, name: &str) {
        let (y, middle) = (self.y + 14, self.y + LANE / 2);
        let name = escape(name);
        self.add(format_args!(
            "<text class=\"small name\" x=\"{}\" y=\"{y}\">{name}</text>",
            LEFT - 8.0
        ));
        self.add(format_args!("<path class=\"line\" d=\"M{LEFT} {middle}H{:.0}\"/>", LEFT + PLOT));
        self.y += LANE;
    }

    /// Marks a span in the lane, if any of it is in the window.
    fn span(&mut self, class: &str, span: Span, (top, height): (u32, u32), what: &str) {
        let Some((x, width)) = self.place(span) else { return };
        let [from, to] = [span.from, span.to].map(|at| self.secs(at));
        let when = if span.is_empty() {
            format!("{from:.3} s")
        } else {
            format!("{from:.3} to {to:.3} s")
        };
        self.rect(class, (x, width.max(2.0)), top, height, &format!("{what}, {when}"));
    }

    fn rect(&mut self, class: &str, (x, width): (f64, f64), top: u32, height: u32, title: &str) {
        let (y, title) = (self.y - LANE + top, escape(title));
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"><title>{title}</title></rect>"
        ));
    }

    fn add(&mut self, mark: std::fmt::Arguments<'_>) {
        writeln!(self.marks, "{mark}").expect("invariant: a string can be written to");
    }

    /// From where on and how wide, of what is in the window.
    fn place(&self, span: Span) -> Option<(f64, f64)> {
        if span.to < self.window.from || span.from > self.window.to {
            return None;
        }
        let part = span.common(self.window);
        let scale = PLOT / self.window.length().as_secs_f64().max(1e-6);
        let x = LEFT + part.from.since(self.window.from).as_secs_f64() * scale;
        Some((x, part.length().as_secs_f64() * scale))
    }

    /// Lines at round times, with the time below.
    fn axis(&self, bottom: u32) -> String {
        let step = round_step(self.window.length() / 8);
        let start = self.history.weather.run.from;
        let first = self.window.from.since(start).as_micros().div_ceil(step.as_micros());
        let ticks =
            (first..first + 20).map(|n| start + step * u32::try_from(n).unwrap_or(u32::MAX));
        let mut axis = String::new();
        for at in ticks.take_while(|at| *at <= self.window.to) {
            let Some((x, _)) = self.place(Span::new(at, at)) else { continue };
            let (secs, below) = (self.secs(at), bottom + 16);
            axis.push_str(&format!(
                "<path class=\"line\" d=\"M{x:.1} {TOP}V{bottom}\"/>\
                 <text class=\"small tick\" x=\"{x:.1}\" y=\"{below}\">{secs:.3} s</text>\n"
            ));
        }
        axis
    }

    fn legend(&self, y: u32) -> String {
        let locks = self.locks.iter().enumerate();
        let locks =
            locks.map(|(i, lock)| (format!("lock{}", i % COLOURS), format!("holds {lock}")));
        let marks = [
            ("wait", "waits"),
            ("write", "writes"),
            ("late", "writes too late"),
            ("lost", "learns of a loss"),
            ("frozen", "stopped"),
            ("killed", "killed"),
            ("quarantined", "no vote"),
        ];
        let marks = marks.map(|(class, what)| (class.to_owned(), what.to_owned()));
        let (mut x, mut legend) = (16, String::new());
        for (class, what) in locks.chain(marks) {
            legend.push_str(&format!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"10\" height=\"10\"/>\
                 <text class=\"small\" x=\"{}\" y=\"{y}\">{}</text>\n",
                y - 9,
                x + 14,
                escape(&what)
            ));
            x += 28 + 6 * what.len();
        }
        legend
    }

    fn secs(&self, at: Time) -> f64 {
        at.since(self.history.weather.run.from).as_secs_f64()
    }
}

/// 1, 2 or 5 of a power of ten, at least as long.
fn round_step(least: Duration) -> Duration {
    let powers = (3..9).map(|power| Duration::from_micros(10_u64.pow(power)));
    let mut steps = powers.flat_map(|unit| [unit, unit * 2, unit * 5]);
    steps.find(|step| *step >= least).unwrap_or(least)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const WIDTH: u32 = 1_200;
/// Where time begins, and how far it goes.
const LEFT: f64 = 90.0;
const PLOT: f64 = 1_094.0;
const TOP: u32 = 60;
const LANE: u32 = 20;
const COLOURS: usize = 6;
const MOST_BYTES: usize = 1_500_000;
const LEAST_WINDOW: Duration = Duration::from_millis(200);
const STYLE: &str = "
text { font: 14px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 11px } .strong, .bad { font-weight: 600 }
.bad { fill: #c1121f } .token { font-size: 10px; fill: #ffffff } .name { text-anchor: end } .tick { text-anchor: middle } .paper { fill: #ffffff } .line { stroke: #d0d7de; fill: none }
.lock0 { fill: #2f6fdb } .lock1 { fill: #1a9e6c } .lock2 { fill: #8a4fd3 } .lock3 { fill: #c47f00 } .lock4 { fill: #0e8fa8 } .lock5 { fill: #b0447f }
.wait { fill: #9aa4af } .write { fill: #1f2328 } .late, .lost, .killed { fill: #d1242f } .lost { stroke: #d1242f; stroke-width: 2 }
.frozen { fill: #6e7781; fill-opacity: .45 } .quarantined { fill: #e3b341; fill-opacity: .5 } .fault { fill: #8c4a00 }
.violation { fill: #d1242f; fill-opacity: .13; stroke: #d1242f; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .token { fill: #0d1117 } .bad { fill: #ff7b72 } .paper { fill: #0d1117 } .line { stroke: #30363d }
.lock0 { fill: #5b9dff } .lock1 { fill: #3fc98f } .lock2 { fill: #b58af5 } .lock3 { fill: #e0a526 } .lock4 { fill: #39bdd6 } .lock5 { fill: #e07ab0 }
.wait { fill: #6e7681 } .write { fill: #e6edf3 } .fault { fill: #f0a050 } .late, .lost, .killed { fill: #ff5c5c } }
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{self, story::Story};

    fn story() -> Story {
        Story::new()
            .master_down(20, 70, 1)
            .section("w0.0/0#1", |s| s.asked(0).fenced(10, 1_000, 7).wrote(55, "").released(60))
            .section("w1.0/2#1", |s| s.asked(2).granted(40, 1_009))
            .section("w2.0/0#1", |s| s.on("<b>").asked(0).granted(10, 1_000).released(60))
            .and(62, Event::WorkerStopped { worker: Worker { place: 1, life: 0 } })
            .killed(75, "w1.0")
    }

    /// Of a mark whose title begins like this: x and width.
    fn mark(page: &str, class: &str, title: &str) -> (f64, f64) {
        let line = page.lines().find(|line| {
            line.contains(&format!("class=\"{class}\""))
                && line.contains(&format!("<title>{title}"))
        });
        let line = line.unwrap_or_else(|| panic!("no {class} {title} in {page}"));
        let value = |name: &str| {
            let rest = line.split_once(&format!(" {name}=\"")).unwrap().1;
            rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        (value("x"), value("width"))
    }

    fn assert_well_formed(page: &str) {
        let mut open = Vec::new();
        for tag in page.split('<').skip(1).map(|rest| rest.split_once('>').unwrap().0) {
            let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{tag}");
            } else if !tag.ends_with('/') && !tag.starts_with('!') {
                open.push(name);
            }
        }
        assert_eq!(open, [""; 0]);
    }

    #[test]
    fn the_violation_is_in_the_middle_with_both_holders_and_what_was_done() {
        let history = story().history();
        let violations = check::violations(&history);
        let page = html(&history, violations.first());
        assert_well_formed(&page);
        let (x, width) = mark(&page, "violation", "red-a was held by w0.0/0#1 and by w1.0/2#1");
        assert!((x + width / 2.0 - (LEFT + PLOT / 2.0)).abs() < 1.0, "{x} {width}");
        let first = mark(&page, "lock0", "w0.0/0#1 holds red-a, token 7, 0.010 to 0.060 s");
        let second = mark(&page, "lock0", "w1.0/2#1 holds red-a, 0.040 to 0.075 s");
        assert!(first.0 + first.1 > second.0, "they overlap: {first:?} {second:?}");
        mark(&page, "frozen", "w1.0 is stopped, 0.062 to 0.075 s");
        mark(&page, "frozen", "does not answer, 0.020 to 0.070 s");
        assert!(!page.contains("w2.0/0#1"), "another lock is another matter");
        assert!(!page.contains("http") || page.matches("http").count() == 1, "a name space alone");
    }

    #[test]
    fn a_run_without_a_violation_is_drawn_as_a_whole() {
        let page = html(&story().history(), None);
        assert_well_formed(&page);
        assert!(page.contains("no violation") && page.contains("holds &lt;b&gt;"), "{page}");
        assert!(page.contains(">8.000 s<"));
    }

    #[test]
    fn a_long_run_is_drawn_as_far_as_a_page_can_bear() {
        let sections = (0..9_000).fold(Story::new(), |story, n| {
            story.section(&format!("w0.0/0#{n}"), |s| s.asked(n).granted(n, n + 1).released(n + 1))
        });
        let page = html(&sections.history(), None);
        assert!((MOST_BYTES / 3..MOST_BYTES + 1_000).contains(&page.len()), "{}", page.len());
    }
}
