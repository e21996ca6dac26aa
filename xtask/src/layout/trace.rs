//! What callgrind writes: how often each function was called.

use std::collections::HashMap;

/// Functions, as the linker knows them, and the calls of each.
pub(super) fn calls(text: &str) -> HashMap<String, u64> {
    // A name is written out where it is first used, and is a number from then on.
    let mut names = HashMap::new();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    let mut target = "";
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            learn(&mut names, function);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            target = learn(&mut names, function);
        } else if let Some(rest) = line.strip_prefix("calls=") {
            let count = rest.split(' ').next().and_then(|count| count.parse().ok());
            *counts.entry(target).or_default() += count.unwrap_or(0);
        }
    }
    let mut sums = HashMap::new();
    for (number, count) in counts {
        let name = names.get(number).copied().unwrap_or_default();
        *sums.entry(name.to_owned()).or_default() += count;
    }
    sums
}

/// The number of a function; its name is kept if it stands there.
fn learn<'a>(names: &mut HashMap<&'a str, &'a str>, function: &'a str) -> &'a str {
    let Some((number, name)) = function.split_once(' ') else { return function };
    // What follows the quote is how deep it has called itself.
    names.insert(number, name.split_once('\'').map_or(name, |(name, _)| name));
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_from_everywhere_are_counted() {
        let text = "\
fn=(1) main
0 5
cfn=(2) _ZN4wire4read17h0123456789abcdefE
calls=3 0
0 30
cfn=(3) _ZN4wire4read17h0123456789abcdefE'2
calls=1 0
0 10

fn=(4) other
cfn=(2)
calls=40 0
0 400
";
        let expected = [("_ZN4wire4read17h0123456789abcdefE".to_owned(), 44)];
        assert_eq!(calls(text), HashMap::from(expected));
    }
}
