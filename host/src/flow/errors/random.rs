//! Small flows of many kinds, drawn by a fixed generator.

/// Numbers from 0 to 1, the same in each run.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }

    fn coin(&mut self) -> bool {
        self.next() < 0.5
    }

    /// Evenly in the logarithm.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.next())
    }
}

/// The case file of a small flow.
pub(super) fn case(seed: u64) -> String {
    let mut draw = Draw(seed);
    let delta = draw.scale(0.1, 10.0);
    match seed % 5 {
        0 => stream(&mut draw, delta, true),
        1 => stream(&mut draw, delta, false),
        2 => slot(&mut draw, delta),
        3 => cavity(&mut draw, delta),
        _ => channel(&mut draw, delta),
    }
}

fn gas(draw: &mut Draw, delta: f64, linear: bool) -> String {
    let model = if draw.coin() { "bgk" } else { "shakhov" };
    format!("gas = {{ model = \"{model}\", delta = {delta:.3}, linear = {linear} }}\n")
}

/// A cylinder or a rectangle in a stream.
fn stream(draw: &mut Draw, delta: f64, round: bool) -> String {
    let linear = draw.next() < 0.25;
    let gas = gas(draw, delta, linear);
    let speed = if linear { 1.0 } else { draw.scale(0.3, 5.0) };
    let half = round && draw.coin();
    let reach = draw.between(1.5, 3.0);
    let h = draw.between(0.07, 0.12);
    let (low, core) = match half {
        true => (0.0, "[0, 0.7]"),
        false => (-reach, "[-0.7, 0.7]"),
    };
    let velocities = match linear || draw.next() < 0.3 && speed < 1.0 {
        true => "velocities = { angles = 32, speeds = 8, temperature = 1.3 }\n",
        false => "velocities = { step = 0.8 }\n",
    };
    let angle = if half { 0.0 } else { draw.between(0.0, 20.0) };
    let side = format!("{{ kind = \"stream\", speed_ratio = {speed:.3}, angle = {angle:.1} }}");
    let bottom = if half {
        "{ kind = \"mirror\" }"
    } else {
        side.as_str()
    };
    let shape = match round {
        true => "shape = \"circle\"\nradius = 0.5".to_owned(),
        false => format!(
            "shape = \"rectangle\"\nsize = [{:.2}, {:.2}]\nangle = {:.1}",
            draw.between(0.5, 1.0),
            draw.between(0.4, 0.8),
            draw.between(0.0, 90.0)
        ),
    };
    let warm = match linear {
        true => draw.between(-1.0, 1.0),
        false => draw.between(0.8, 1.6),
    };
    format!(
        "{gas}domain = {{ x = [-{reach:.2}, {reach:.2}], y = [{low:.2}, {reach:.2}], h = {h:.3}, core = [[-0.7, 0.7], {core}], growth = 1.15, largest = 0.4 }}\n{velocities}[sides]\nleft = {side}\nright = {side}\nbottom = {bottom}\ntop = {side}\n[[body]]\n{shape}\ntemperature = {warm:.2}\n"
    )
}

/// A slot between two vessels.
fn slot(draw: &mut Draw, delta: f64) -> String {
    let linear = draw.coin();
    let gas = gas(draw, delta, linear);
    let reach = draw.between(1.5, 3.0);
    let h = draw.between(0.06, 0.1);
    let long = draw.between(0.3, 1.5);
    let (before, behind) = match linear {
        true => (1.0, 0.0),
        false => (1.0, draw.between(0.05, 0.9)),
    };
    format!(
        "{gas}domain = {{ x = [-{x:.2}, {x:.2}], y = [0, {reach:.2}], h = {h:.3}, core = [[-{core:.2}, {core:.2}], [0, 0.7]], growth = 1.15, largest = 0.4 }}\nvelocities = {{ angles = 32, speeds = 8 }}\n[sides]\nleft = {{ kind = \"reservoir\", density = {before} }}\nright = {{ kind = \"reservoir\", density = {behind:.3} }}\nbottom = {{ kind = \"mirror\" }}\ntop = {{ kind = \"split\", left = {{ density = {before} }}, right = {{ density = {behind:.3} }} }}\n[[body]]\nshape = \"rectangle\"\ncentre = [0, 20.5]\nsize = [{long:.2}, 40]\n",
        x = reach + 0.5 * long,
        core = 0.5 * long + 0.3,
    )
}

/// A cavity with a lid that slides, with or without a disc.
fn cavity(draw: &mut Draw, delta: f64) -> String {
    let linear = draw.coin();
    let gas = gas(draw, delta, linear);
    let h = 1.0 / draw.between(14.0, 24.0).round();
    let speed = if linear { 1.0 } else { draw.between(0.1, 0.6) };
    let warm = match linear {
        true => draw.between(-1.0, 1.0),
        false => draw.between(0.8, 1.5),
    };
    let disc = match draw.coin() {
        true => format!(
            "[[body]]\nshape = \"circle\"\ncentre = [{:.2}, {:.2}]\nradius = {:.2}\n",
            draw.between(0.4, 0.6),
            draw.between(0.4, 0.6),
            draw.between(0.15, 0.25)
        ),
        false => String::new(),
    };
    format!(
        "{gas}domain = {{ x = [0, 1], y = [0, 1], h = {h:.5} }}\nvelocities = {{ angles = 32, speeds = 8 }}\n[sides]\nleft = {{ kind = \"wall\", temperature = {warm:.2} }}\nright = {{ kind = \"wall\" }}\nbottom = {{ kind = \"wall\" }}\ntop = {{ kind = \"wall\", velocity = {speed:.2} }}\n{disc}"
    )
}

/// A channel that repeats itself, with a disc or a post, driven by a fall of the pressure or of the temperature.
fn channel(draw: &mut Draw, delta: f64) -> String {
    let gas = gas(draw, delta, true);
    let long = draw.between(0.8, 1.6);
    let h = 0.5 / draw.between(8.0, 13.0).round();
    let jump = match draw.next() < 0.7 {
        true => "jump = 1",
        false => "jump_temperature = 1",
    };
    let body = match draw.coin() {
        true => format!(
            "shape = \"circle\"\ncentre = [{:.3}, 0.5]\nradius = {:.2}",
            0.5 * long,
            draw.between(0.1, 0.3)
        ),
        false => format!(
            "shape = \"rectangle\"\ncentre = [{:.3}, 0]\nsize = [{:.2}, {:.2}]",
            0.5 * long,
            draw.between(0.2, 0.4),
            draw.between(0.2, 0.5)
        ),
    };
    format!(
        "{gas}domain = {{ x = [0, {long:.3}], y = [0, 0.5], h = {h:.5} }}\nvelocities = {{ angles = 32, speeds = 8 }}\n[sides]\nleft = {{ kind = \"periodic\", {jump} }}\nright = {{ kind = \"periodic\", {jump} }}\nbottom = {{ kind = \"wall\" }}\ntop = {{ kind = \"mirror\" }}\n[[body]]\n{body}\n"
    )
}
