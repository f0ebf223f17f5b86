//! The date that results are kept under.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today in UTC, as 2026-01-31. (Howard Hinnant, *chrono-compatible low-level date algorithms*, `civil_from_days`.)
pub(crate) fn date() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400);
    let z = days + 719_468;
    let era_day = z % 146_097;
    let year_of_era = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
    let day_of_year = era_day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year_of_era + 400 * (z / 146_097) + carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_has_the_form_year_month_day() {
        let today = date();
        assert!(today.len() == 10 && today.as_str() > "2026-01-01" && today.as_str() < "2200", "{today}");
    }
}
