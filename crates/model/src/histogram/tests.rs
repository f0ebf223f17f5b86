use super::*;
use proptest::prelude::*;

fn reference(values: &[u64]) -> hdrhistogram::Histogram<u64> {
    let mut histogram = hdrhistogram::Histogram::new_with_bounds(1, HIGH_NS, DIGITS).unwrap();
    values.iter().for_each(|value| histogram.record(*value).unwrap());
    histogram
}

#[test]
fn durations_of_an_hour_and_more_share_the_last_bucket() {
    assert_eq!(bucket_of(HIGH_NS), BUCKETS as u64 - 1);
    let mut histogram = Histogram::default();
    histogram.record(u64::MAX);
    histogram.record(HIGH_NS);
    assert_eq!(histogram.buckets().collect::<Vec<_>>(), [(BUCKETS as u64 - 1, 2)]);
    assert!(histogram.max() >= HIGH_NS);
}

#[test]
fn ranks_of_quantiles_are_exact() {
    let ranks = [(0.07, 100), (0.55, 100), (0.5, 1), (0.0, 9), (1.0, 9), (0.999, 1_000)];
    assert_eq!(ranks.map(|(quantile, n)| nearest_rank(quantile, n)), [7, 55, 1, 1, 9, 999]);
}

proptest! {
    #[test]
    fn every_figure_equals_hdr_histograms(
        values in proptest::collection::vec((0u32..42).prop_flat_map(|bits| 0..=(1u64 << bits).min(HIGH_NS)), 1..200),
        quantile in 0.0f64..=1.0,
    ) {
        let (reference, sparse) = (reference(&values), SparseHistogram::of_values(values.iter().copied()));
        let mut dense = Histogram::default();
        dense.add_sparse(&sparse);
        let expected: Vec<(u64, u64)> =
            reference.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
        prop_assert_eq!(sparse.buckets().map(|(b, n)| (highest_ns(b), n)).collect::<Vec<_>>(), expected);
        prop_assert_eq!((sparse.len(), dense.len()), (reference.len(), reference.len()));
        prop_assert_eq!((sparse.min(), sparse.max(), dense.max()), (reference.min(), reference.max(), reference.max()));
        let q = quantile.max(f64::MIN_POSITIVE);
        prop_assert_eq!(sparse.value_at_quantile(q), reference.value_at_quantile(q));
        prop_assert_eq!(dense.value_at_quantile(q), reference.value_at_quantile(q));
        prop_assert!((sparse.mean() - reference.mean()).abs() <= 1e-9 * reference.mean());
        prop_assert!((sparse.moments().1 - reference.stdev()).abs() <= 1e-6 * reference.mean().max(1.0));
    }

    #[test]
    fn merged_histograms_count_every_value_once(
        one in proptest::collection::vec(0u64..1 << 42, 0..50),
        two in proptest::collection::vec(0u64..1 << 42, 0..50),
    ) {
        let [a, b] = [&one, &two].map(|values| SparseHistogram::of_values(values.iter().copied()));
        let all = SparseHistogram::of_values(one.iter().chain(&two).copied());
        let mut sum = a.clone();
        sum.add(&b);
        prop_assert_eq!(&sum, &all);
        let mut dense = Histogram::default();
        [&a, &b].into_iter().for_each(|one| dense.add_sparse(one));
        prop_assert_eq!(dense.take(), all.clone());
        prop_assert_eq!(dense, Histogram::default());
        prop_assert_eq!(all.with_zeros(3).len(), all.len() + 3);
    }

    #[test]
    fn a_histogram_reads_back_from_its_text(values in proptest::collection::vec(0u64..1 << 42, 0..200)) {
        let histogram = SparseHistogram::of_values(values);
        prop_assert_eq!(SparseHistogram::from_text(&histogram.to_text()), Ok(histogram));
    }

    #[test]
    fn any_bytes_are_a_sound_histogram_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let text = SparseHistogram { packed: bytes, len: 0 }.to_text();
        if let Ok(read) = SparseHistogram::from_text(&text) {
            let mut dense = Histogram::default();
            dense.add_sparse(&read);
            prop_assert_eq!(dense.len(), read.len());
            prop_assert_eq!(dense.to_sparse(), SparseHistogram::from_buckets(read.buckets()));
        }
    }
}

#[test]
fn texts_that_are_no_histogram_are_refused() {
    let long = "A".repeat(TEXT_MAX_BYTES + 1);
    for text in ["!", "AAAA", "////", long.as_str()] {
        assert!(SparseHistogram::from_text(text).is_err(), "{}", &text[..4.min(text.len())]);
    }
    let bomb = SparseHistogram { packed: vec![1; 3 * TEXT_MAX_BYTES], len: 0 }.to_text();
    assert!(bomb.len() < TEXT_MAX_BYTES && SparseHistogram::from_text(&bomb).is_err());
    let beyond = SparseHistogram::from_buckets([(BUCKETS as u64, 1)].into_iter()).to_text();
    assert!(SparseHistogram::from_text(&beyond).is_err());
}

#[test]
fn a_bucket_takes_two_bytes() {
    let packed = SparseHistogram::from_buckets((20 * 1024..24 * 1024).map(|bucket| (bucket, 1))).packed.len();
    assert_eq!(packed, 2 * 4 * 1024 + 2);
}

/// Of security review 9: counts of a hostile file, each of 64 bits, overflowed where a view added them.
#[test]
fn counts_whose_sum_no_load_can_have_are_refused() {
    let read = |buckets: &[(u64, u64)]| {
        let mut packed = Vec::new();
        pack(buckets.iter().copied(), &mut packed);
        let text = SparseHistogram { packed, len: 0 }.to_text();
        serde_json::from_str::<SparseHistogram>(&format!("\"{text}\"")).map(|read| read.len())
    };
    assert_eq!(read(&[(1, 7), (9, COUNT_MAX - 7)]).unwrap(), COUNT_MAX);
    for hostile in [&[(1, 8), (9, COUNT_MAX - 7)][..], &[(1, u64::MAX)], &[(1, u64::MAX), (2, u64::MAX)]] {
        let why = read(hostile).unwrap_err().to_string();
        assert!(why.contains("a histogram is damaged"), "{why}");
    }
}

#[test]
fn a_sum_of_few_and_of_many_is_the_same() {
    let of = |at: u64| SparseHistogram::of_values([at, 5_000, 90_000 * at]);
    let each: Vec<SparseHistogram> = (0..2 * MERGED_MAX as u64).map(of).collect();
    let (few, many) = each.split_at(MERGED_MAX);
    let mut both = SparseHistogram::sum(few);
    both.add(&SparseHistogram::sum(many));
    assert_eq!(both, SparseHistogram::sum(&each));
    assert_eq!(SparseHistogram::sum([]), SparseHistogram::default());
}

#[test]
fn texts_of_any_length_read_back_and_cut_ones_are_refused() {
    for buckets in 0..1_500 {
        let histogram = SparseHistogram::from_buckets((0..buckets).map(|bucket| (bucket, 1)));
        assert_eq!(SparseHistogram::from_text(&histogram.to_text()).as_ref(), Ok(&histogram), "{buckets}");
    }
    let whole = STANDARD_NO_PAD.decode(SparseHistogram::of_values(0..900).to_text()).unwrap();
    for length in 0..whole.len() {
        assert!(SparseHistogram::from_text(&STANDARD_NO_PAD.encode(&whole[..length])).is_err(), "{length}");
    }
}
