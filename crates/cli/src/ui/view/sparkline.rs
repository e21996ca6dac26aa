//! Sparklines: numbers as a row of bars, one character each.
//!
//! Used by `server` and `top`. They have no axis; the text beside them has the numbers.

/// The bars, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The values as bars, at most `columns` of them: neighbours share a bar, which shows the largest. Zero is blank.
pub(super) fn sparkline(values: &[u64], columns: usize) -> String {
    let together = values.len().div_ceil(columns.max(1)).max(1);
    let bars: Vec<u64> =
        values.chunks(together).map(|chunk| chunk.iter().copied().max().unwrap_or(0)).collect();
    let highest = bars.iter().copied().max().unwrap_or(0);
    let bar = |value: &u64| match (*value, highest) {
        (0, _) | (_, 0) => ' ',
        (value, highest) => {
            let level = (u128::from(value) * BARS.len() as u128).div_ceil(u128::from(highest));
            BARS[usize::try_from(level).unwrap_or(BARS.len()).clamp(1, BARS.len()) - 1]
        }
    };
    bars.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_bars() {
        for (values, columns, expected) in [
            (&[][..], 10, ""),
            (&[0, 0], 10, "  "),
            (&[1, 2, 4, 8], 10, "▁▂▄█"),
            (&[5, 5], 10, "██"),
            (&[1, 9, 0, 3], 2, "█▃"),
            (&[u64::MAX, 1], 2, "█▁"),
            (&[1], 0, "█"),
        ] {
            assert_eq!(sparkline(values, columns), expected, "{values:?} {columns}");
        }
    }
}
