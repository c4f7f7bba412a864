use proptest::prelude::*;

use super::*;

/// A decimal fraction by schoolbook arithmetic on single digits, as an independent reference.
#[derive(Clone, Debug)]
struct Reference {
    negative: bool,
    /// Most significant first; the last `places` of them stand after the point.
    digits: Vec<u8>,
    places: usize,
}

impl Reference {
    /// A number such as `-012.50`.
    fn number(text: &str) -> Self {
        let negative = text.starts_with('-');
        let unsigned = text.trim_start_matches(['+', '-']);
        let places = unsigned.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits = unsigned.bytes().filter(u8::is_ascii_digit).map(|it| it - b'0').collect();
        Self { negative, digits, places }
    }

    fn times(mut self, factor: u64) -> Self {
        let (mut carry, mut product) = (0_u64, Vec::new());
        for digit in self.digits.iter().rev() {
            carry += u64::from(*digit) * factor;
            product.push(u8::try_from(carry % 10).unwrap());
            carry /= 10;
        }
        while carry > 0 {
            product.push(u8::try_from(carry % 10).unwrap());
            carry /= 10;
        }
        product.reverse();
        self.digits = product;
        self
    }

    fn times_power_of_ten(mut self, exponent: i32) -> Self {
        for _ in 0..exponent {
            if self.places > 0 {
                self.places -= 1;
            } else {
                self.digits.push(0);
            }
        }
        for _ in exponent..0 {
            self.places += 1;
        }
        self
    }

    /// Digits of the magnitude before `places` after the point, rounded up, without leading zeros.
    fn rounded_up(&self, places: usize) -> String {
        let mut padded = vec![0; (self.places + 1).saturating_sub(self.digits.len())];
        padded.extend(&self.digits);
        padded.resize(padded.len() + places.saturating_sub(self.places), 0);
        let kept = padded.len() - self.places.saturating_sub(places);
        let up = padded[kept..].iter().any(|&digit| digit != 0);
        padded.truncate(kept);
        if up {
            let mut at = padded.len();
            loop {
                if at == 0 {
                    padded.insert(0, 1);
                    break;
                }
                at -= 1;
                if padded[at] < 9 {
                    padded[at] += 1;
                    break;
                }
                padded[at] = 0;
            }
        }
        let text: String = padded.iter().map(|digit| char::from(digit + b'0')).collect();
        text.trim_start_matches('0').to_owned()
    }

    /// The number with `places` after the point, away from zero, cut to 64 bits.
    fn integer(&self, places: usize) -> i64 {
        let digits = self.rounded_up(places);
        let sign = if self.negative { "-" } else { "" };
        if digits.is_empty() {
            return 0;
        }
        let limit = if self.negative { i64::MIN } else { i64::MAX };
        format!("{sign}{digits}").parse().unwrap_or(limit)
    }
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

const BINARY: [(&str, u32); 6] = [("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];

/// A signed number in every allowed form, from no digits before the point to far beyond 64 bits.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        "[+-]?[0-9]{1,6}",
        "[+-]?[0-9]{1,30}",
        r"[+-]?[0-9]{0,20}\.[0-9]{1,30}",
        r"[+-]?0{0,3}[1-9]{1,3}\.",
        r"[+-]?0?\.0{0,12}[0-9]{1,12}",
        Just("9223372036854775807".to_owned()),
        Just("-9223372036854775808".to_owned()),
        Just("170141183460469231731.687303715884105727".to_owned()),
        Just("170141183460469231731687303715.884105728".to_owned()),
    ]
}

fn check(text: &str, expected: &Reference) -> Result<(), TestCaseError> {
    let it = quantity(text);
    prop_assert_eq!(it.value(), expected.integer(0), "value of {}", text);
    prop_assert_eq!(it.milli_value(), expected.integer(3), "milli value of {}", text);
    let nanos = expected.rounded_up(9);
    let sign = if nanos.is_empty() { 0 } else { 1 - 2 * i32::from(expected.negative) };
    prop_assert_eq!(it.sign(), sign, "sign of {}", text);
    // The exact amount: so many nanos, written in a decimal notation that needs no rounding.
    let minus = if expected.negative { "-" } else { "" };
    let exact = if nanos.is_empty() { "0".to_owned() } else { format!("{minus}{nanos}n") };
    prop_assert_eq!(&it, &quantity(&exact), "amount of {}", text);
    // The canonical form says the same and is stable.
    let printed = it.to_string();
    let back = quantity(&printed);
    prop_assert_eq!(&back, &it, "{} printed as {}", text, &printed);
    prop_assert_eq!(back.to_string(), printed);
    Ok(())
}

proptest! {
    #[test]
    fn decimal_amounts_are_exact_for_every_suffix(number in number(), which in 0..DECIMAL.len()) {
        let (suffix, exponent) = DECIMAL[which];
        let expected = Reference::number(&number).times_power_of_ten(exponent);
        check(&format!("{number}{suffix}"), &expected)?;
    }

    #[test]
    fn decimal_exponents_are_exact(number in number(), exponent in -60..60, big in any::<bool>()) {
        let suffix = if big { 'E' } else { 'e' };
        let expected = Reference::number(&number).times_power_of_ten(exponent);
        check(&format!("{number}{suffix}{exponent}"), &expected)?;
        check(&format!("{number}{suffix}{exponent:+04}"), &expected)?;
    }

    #[test]
    fn binary_amounts_are_exact_up_to_64_bits_and_cut_there(
        number in number(),
        which in 0..BINARY.len(),
    ) {
        let (suffix, steps) = BINARY[which];
        let mut expected = Reference::number(&number);
        for _ in 0..steps {
            expected = expected.times(1024);
        }
        let max = "9223372036854775807";
        let units = expected.rounded_up(0);
        if units.len() > max.len() || (units.len() == max.len() && units.as_str() > max) {
            expected = Reference { negative: expected.negative, ..Reference::number(max) };
        }
        check(&format!("{number}{suffix}"), &expected)?;
    }

    #[test]
    fn order_sum_and_difference_are_those_of_the_numbers(
        a in -10_i128.pow(30)..10_i128.pow(30),
        b in -10_i128.pow(30)..10_i128.pow(30),
        shift in 0..50_usize,
    ) {
        // Equal powers of ten change neither order nor exactness, and leave 128 bits behind.
        let zeros = "0".repeat(shift);
        let of = |number: i128| quantity(&format!("{number}{zeros}n"));
        prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
        prop_assert_eq!(&of(a) + &of(b), of(a + b));
        prop_assert_eq!(&of(a) - &of(b), of(a - b));
        prop_assert_eq!(&(&of(a) + &of(b)) - &of(b), of(a));
    }

    #[test]
    fn no_text_makes_the_parser_fail_or_linger(text in r"[+-]?[0-9.]{0,9}[eEinumkKMGTP]{0,3}[+-]?[0-9]{0,19}") {
        if let Ok(it) = Quantity::parse(&text) {
            prop_assert_eq!(quantity(&it.to_string()), it);
        }
    }

    #[test]
    fn arbitrary_text_is_read_or_refused(text in any::<String>()) {
        let _ = Quantity::parse(&text);
    }
}

/// Recorded from the real parser: text, value, milli value, printed form.
#[test]
fn recorded_texts_are_read_as_recorded() {
    for (text, value, milli_value, printed) in [
        ("100m", 1, 100, "100m"),
        ("-100m", -1, -100, "-100m"),
        ("1000n", 1, 1, "1u"),
        ("+1", 1, 1000, "1"),
        ("010", 10, 10_000, "10"),
        ("1.0000000001", 2, 1001, "1000000001n"),
        ("1.5P", 1_500_000_000_000_000, 1_500_000_000_000_000_000, "1500T"),
        ("0Ki", 0, 0, "0"),
        ("1E+3", 1000, 1_000_000, "1e3"),
        ("5.e3", 5000, 5_000_000, "5e3"),
        ("1e-4", 1, 1, "100e-6"),
        ("0.3Gi", 322_122_548, 322_122_547_200, "322122547200m"),
        ("1.5Ki", 1536, 1_536_000, "1536"),
        ("0.00048828125Ki", 1, 500, "500m"),
        ("2048Mi", 2_147_483_648, 2_147_483_648_000, "2Gi"),
        ("1048577Ki", 1_073_742_848, 1_073_742_848_000, "1048577Ki"),
        ("0.0000000000000000000000000000000000000001", 1, 1, "1n"),
        ("-0.5Ki", -512, -512_000, "-512"),
    ] {
        let it = quantity(text);
        let found = (it.value(), it.milli_value(), it.to_string());
        assert_eq!(found, (value, milli_value, printed.to_owned()), "{text}");
    }
}

#[test]
fn recorded_sums_are_printed_in_the_notation_of_the_first_operand_that_is_not_zero() {
    for (a, b, sum, difference) in [
        ("1e3", "1k", "2e3", "0"),
        ("1Ei", "1E", "2102462406842624Ki", "149337406842624Ki"),
        ("1k", "1Ki", "2024", "-24"),
        ("0", "1Ki", "1Ki", "-1Ki"),
        ("1Ki", "0", "1Ki", "1Ki"),
        ("7Ei", "8Ei", "17293822569102704639", "-1152921504606846975"),
        (
            "-1Ki",
            "01228100000e20",
            "119931640624999999999999999Ki",
            "-119931640625000000000000001Ki",
        ),
        ("4M", ".2Gi", "218748364800m", "-210748364800m"),
    ] {
        let (a, b) = (quantity(a), quantity(b));
        assert_eq!(((&a + &b).to_string(), (&a - &b).to_string()), (sum.into(), difference.into()));
        let mut in_place = a.clone();
        in_place += &b;
        in_place -= &b;
        assert_eq!(in_place, a);
    }
}

#[test]
fn amounts_beyond_64_bits_are_cut_and_keep_their_sign() {
    for text in ["50E", "9224P", "1e19", "18446744073709551616", "1e999999999999999"] {
        assert_eq!((quantity(text).value(), quantity(text).milli_value()), (i64::MAX, i64::MAX));
        let text = format!("-{text}");
        assert_eq!((quantity(&text).value(), quantity(&text).milli_value()), (i64::MIN, i64::MIN));
    }
    assert_eq!(quantity("-9223372036854775807").value(), -9_223_372_036_854_775_807);
    assert_eq!(quantity("-1.5").value(), -2);
    assert_eq!(quantity("-0.5n").value(), -1);
    assert_eq!(quantity("-6757794009455182289m").value(), -6_757_794_009_455_183);
    assert_eq!(quantity("-1Ei").value(), -1_152_921_504_606_846_976);
}

#[test]
fn huge_exponents_take_no_time_and_huge_numbers_have_a_largest() {
    assert_eq!(quantity("1e-100000000"), quantity("1n"));
    assert_eq!(quantity("-1e-9223372036854775808"), quantity("-1n"));
    assert_eq!(quantity("0e-100000000"), quantity("0"));
    let largest = quantity("1e9223372036854775807");
    assert_eq!(largest.to_string(), "1e4095");
    assert_eq!(&largest + &largest, largest);
    assert_eq!(&quantity("-1e5000") - &largest, quantity("-1e4095"));
    assert_eq!(quantity(&"9".repeat(100_000)), largest);
    assert!(quantity("1e4094") < largest);
}

#[test]
fn a_decimal_amount_beyond_the_last_suffix_keeps_its_zeros() {
    assert_eq!(quantity("1000E").to_string(), "1000E");
    assert_eq!(quantity("-10E").to_string(), "-10E");
    let sum = (0..4).fold(quantity("0"), |sum, _| &sum + &quantity("4611686018427387904"));
    assert_eq!(sum.to_string(), "18446744073709551616");
    let exbi = (0..1024).fold(quantity("0"), |sum, _| &sum + &quantity("4Ei"));
    assert_eq!(exbi.to_string(), "4096Ei");
}

#[test]
fn texts_that_are_no_quantities_are_refused_in_upstreams_words() {
    let of = |text: &str| Quantity::parse(text).unwrap_err();
    for text in ["", " 1", "1 ", "1_000", "1e3e3", "1.2.3", "0x10", "1MB", "none", "1$", "½", "50%"]
    {
        assert_eq!(of(text), QuantityError::Format, "{text}");
    }
    for text in
        ["1ki", "1K", "1mm", "1e", "1e+", "1ee3", "1+3", "1Ki3", "e", "1e9223372036854775808"]
    {
        assert_eq!(of(text), QuantityError::Suffix, "{text}");
    }
    for text in ["Ei", "-Pi", ".Ei", "e-10"] {
        assert_eq!(of(text), QuantityError::Numeric, "{text}");
    }
    for text in ["+", "-", ".", "+.", "m", "E", "Ki", ".Ti", "-T", "e9", "0Ei", "000.000"] {
        assert_eq!(quantity(text), Quantity::default(), "{text}");
        assert_eq!(quantity(text).to_string(), "0", "{text}");
    }
    assert_eq!(
        of("x").to_string(),
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    );
    assert_eq!(of("1K").to_string(), "unable to parse quantity's suffix");
    assert_eq!(of("Ei").to_string(), "unable to parse numeric part of quantity");
}

#[test]
fn json_takes_texts_and_numbers_and_gives_the_canonical_text() {
    let read = |json: &str| serde_json::from_str::<Quantity>(json);
    for (json, text) in [
        (r#""1.5Gi""#, "1536Mi"),
        (r#"" 1Mi ""#, "1Mi"),
        ("2", "2"),
        ("-3", "-3"),
        ("18446744073709551615", "18446744073709551615"),
        ("0.1", "100m"),
        ("1.5e3", "1500"),
        ("null", "0"),
    ] {
        assert_eq!(read(json).unwrap().to_string(), text, "{json}");
    }
    for json in [r#""1K""#, r#""""#, r#""\t1""#, "true", "[]", "{}"] {
        assert!(read(json).is_err(), "{json}");
    }
    assert_eq!(serde_json::to_string(&quantity("0.5")).unwrap(), r#""500m""#);
}

#[test]
fn equal_amounts_are_equal_whatever_their_notation() {
    use std::collections::HashSet;

    let same: HashSet<_> =
        ["1Gi", "1024Mi", "1073741824", "1073741824000m", "1.073741824e9"].map(quantity).into();
    assert_eq!(same.len(), 1);
    assert_eq!(Quantity::from_value(2), quantity("2000m"));
    assert_eq!(Quantity::from_milli_value(2000), quantity("2"));
}
