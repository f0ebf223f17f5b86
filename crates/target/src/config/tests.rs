use super::*;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn delays_are_read_and_written_back() {
    let cases = [
        ("none", Delay::None),
        ("2ms", Delay::Fixed(ms(2))),
        ("1.5s", Delay::Fixed(ms(1500))),
        ("250µs", Delay::Fixed(Duration::from_micros(250))),
        ("exp:2ms", Delay::Exponential { mean: ms(2) }),
        ("bimodal:3ms,23ms,0.1", Delay::Bimodal { usual: ms(3), rare: ms(23), rare_share: 0.1 }),
    ];
    for (text, delay) in cases {
        assert_eq!(text.parse::<Delay>().unwrap(), delay);
        assert_eq!(delay.to_string(), text);
    }
    assert_eq!("250us".parse::<Delay>().unwrap(), Delay::Fixed(Duration::from_micros(250)));
    assert_eq!("1h".parse::<Delay>().unwrap(), Delay::Fixed(DURATION_MAX));
}

#[test]
fn stalls_are_read_and_written_back() {
    let stall: Stall = "200ms/2s".parse().unwrap();
    assert_eq!(stall, Stall { silence: ms(200), period: ms(2000) });
    assert_eq!(stall.to_string(), "200ms/2s");
}

#[test]
fn wrong_options_are_refused_in_a_sentence() {
    let delays = [
        "",
        "2",
        "ms",
        "-2ms",
        "0ms",
        "0.4ns",
        "61m",
        "2h",
        "2parsecs",
        "1e400s",
        "exp:",
        "exp:0s",
        "gamma:2ms",
    ];
    for text in delays {
        let error = text.parse::<Delay>().unwrap_err().to_string();
        assert!(error.contains(&format!("`{}`", text.trim_start_matches("exp:"))), "{error}");
        assert!(error.contains(": write "), "{error}");
    }
    for text in [
        "bimodal:3ms",
        "bimodal:3ms,4ms",
        "bimodal:3ms,4ms,1",
        "bimodal:3ms,4ms,NaN",
        "bimodal:3ms,4ms,0.1,2",
    ] {
        assert!(text.parse::<Delay>().is_err(), "{text}");
    }
    for text in ["200ms", "2s/2s", "2s/200ms", "0s/2s", "200ms/", "/2s", "1s/2h", "-1s/2s"] {
        let error = text.parse::<Stall>().unwrap_err().to_string();
        assert!(error.contains(": write "), "{error}");
    }
    assert_eq!(
        "2s/2s".parse::<Stall>().unwrap_err().to_string(),
        "the stall `2s/2s` would never end: write a silence shorter than its period, such as 200ms/2s"
    );
}

#[test]
fn configurations_written_in_code_are_checked_too() {
    assert_eq!(Config::default().check(), Ok(()));
    let refused = [
        Config { threads: 0, ..Config::default() },
        Config { capacity_per_s: Some(0.0), ..Config::default() },
        Config { capacity_per_s: Some(f64::NAN), ..Config::default() },
        Config { capacity_per_s: Some(f64::INFINITY), ..Config::default() },
        Config { body_bytes: Some(BODY_BYTES_MAX + 1), ..Config::default() },
        Config { delay: Delay::Fixed(Duration::MAX), ..Config::default() },
        Config { stall: Some(Stall { silence: ms(2), period: ms(2) }), ..Config::default() },
    ];
    for config in refused {
        assert!(config.check().is_err(), "{config:?}");
    }
}
