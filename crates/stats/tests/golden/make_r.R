# Values of R's own stats package for tests/golden.rs, where SciPy has none or another
# definition: Hodges-Lehmann with Wilcoxon's interval, quantiles of type 1,
# power of the t test, Kendall's tau.
# Made with R 4.2.2 (Debian 12's r-base-core), no other package. Run: Rscript make_r.R > r.json

set.seed(20261121)
number <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
field <- function(name, value) paste0('"', name, '":', value)
record <- function(...) paste0("{", paste(c(...), collapse = ","), "}")
array <- function(items) paste0("[", paste(items, collapse = ",\n"), "]")

hodges_lehmann <- function(x) {
  w <- suppressWarnings(wilcox.test(x, conf.int = TRUE, conf.level = 0.95, exact = TRUE))
  record(field("values", number(x)), field("interval", number(c(w$estimate, w$conf.int))))
}
quantiles <- function(x, q) {
  record(field("values", number(x)), field("q", number(q)), field("type1", number(quantile(x, q, type = 1))))
}
power <- function(n, d) {
  p <- power.t.test(n = n, delta = d, sd = 1, sig.level = 0.05, type = "one.sample", strict = TRUE)$power
  record(field("n", n), field("d", d), field("power", sprintf("%.17g", p)))
}
tau <- function(x, y) record(field("x", number(x)), field("y", number(y)), field("tau", sprintf("%.17g", cor(x, y, method = "kendall"))))

hl <- array(sapply(c(6, 7, 8, 10, 12, 15, 20, 30), function(n) hodges_lehmann(rnorm(n, 0.04, 0.03))))
# Drawn for values that are no longer here, so that those after them stay what they were.
invisible(rnorm(40, 100, 5))
qs <- array(c(quantiles(round(rexp(101) * 1000), c(0.5, 0.75, 0.9, 0.95, 0.99, 0.999)),
              quantiles(round(rexp(1000) * 1000), c(0.01, 0.5, 0.9, 0.99, 0.999))))
invisible(list(rnorm(15), rnorm(30)))
pw <- array(mapply(power, c(2, 4, 6, 12, 50), c(2, 1.5, 1.18, 1, 0.3)))
ta <- array(c(tau(rnorm(12), rnorm(12)), tau(sample(1:4, 14, TRUE), sample(1:4, 14, TRUE))))

cat(record(field("made_with", paste0('"', R.version.string, '"')), field("hodges_lehmann", hl),
           field("quantiles", qs), field("power", pw), field("tau", ta)), "\n")
