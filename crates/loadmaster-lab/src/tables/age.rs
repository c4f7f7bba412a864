//! Durations as kubectl shows them.

use jiff::Timestamp;
use serde_json::Value;

/// A duration in seconds as an age: `95s`, `4m20s`, `75m`, `5h10m`, `30h`, `3d4h`, `200d`, `3y40d`.
///
/// Source: apimachinery `util/duration` 1.36.
pub fn human_duration(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let with_rest = |count: i64, unit: char, rest: i64, rest_unit: char| {
        if rest == 0 { format!("{count}{unit}") } else { format!("{count}{unit}{rest}{rest_unit}") }
    };
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 0 {
        "0s".to_owned()
    } else if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        with_rest(minutes, 'm', seconds % 60, 's')
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        with_rest(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        with_rest(days, 'd', hours % 24, 'h')
    } else if years < 2 {
        format!("{days}d")
    } else if years < 8 {
        with_rest(years, 'y', days % 365, 'd')
    } else {
        format!("{years}y")
    }
}

/// How long ago an RFC 3339 time was; `<unknown>` where there is none.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    match parse(time) {
        Some(time) => human_duration(whole_seconds(time, now)),
        None => "<unknown>".to_owned(),
    }
}

/// The time in a member, where there is one.
pub(super) fn parse(time: &Value) -> Option<Timestamp> {
    time.as_str()?.parse().ok()
}

/// Whole seconds from one time to another, cut towards zero.
pub(super) fn whole_seconds(from: Timestamp, to: Timestamp) -> i64 {
    to.duration_since(from).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ages_change_their_unit_at_upstream_s_bounds() {
        let (minute, hour, day) = (60, 3600, 86400);
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (4 * minute + 20, "4m20s"),
            (599, "9m59s"),
            (75 * minute, "75m"),
            (3 * hour - 1, "179m"),
            (3 * hour, "3h"),
            (5 * hour + 10 * minute, "5h10m"),
            (30 * hour, "30h"),
            (2 * day, "2d"),
            (3 * day + 4 * hour, "3d4h"),
            (8 * day + hour, "8d"),
            (200 * day, "200d"),
            (2 * 365 * day, "2y"),
            (3 * 365 * day + 40 * day, "3y40d"),
            (9 * 365 * day, "9y"),
            (-1, "0s"),
            (-2, "<invalid>"),
        ];
        for (seconds, shown) in cases {
            assert_eq!(human_duration(seconds), shown, "{seconds} seconds");
        }
    }

    #[test]
    fn a_missing_time_is_unknown() {
        let now = "2026-11-29T16:00:00Z".parse().unwrap();
        assert_eq!(since(&Value::Null, now), "<unknown>");
        assert_eq!(since(&json!("2026-11-29T15:58:25Z"), now), "95s");
    }
}
