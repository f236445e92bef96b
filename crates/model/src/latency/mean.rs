//! Mean waiting times in closed form.

/// The mean time that a packet waits for a server that takes packets one by one: M/G/1 with vacations (Fuhrmann, Cooper 1985).
/// `service` are costs with their shares, which add up to 1; `vacation` is the mean and the mean square of the time for
/// which a server that found nothing does not look again. `None` if the load is 1 or more.
pub fn mean_wait(rate: f64, service: &[(f64, f64)], vacation: (f64, f64)) -> Option<f64> {
    let moment = |power: i32| service.iter().map(|(ns, share)| ns.powi(power) * share).sum::<f64>();
    let load = rate * moment(1);
    let rest = if vacation.0 > 0.0 { vacation.1 / (2.0 * vacation.0) } else { 0.0 };
    (load < 1.0).then(|| rate * moment(2) / (2.0 * (1.0 - load)) + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_costs_give_the_formula_of_pollaczek() {
        // M/D/1 at a load of 0.8: 0.8 / (2 x 0.2) services.
        assert!((mean_wait(0.008, &[(100.0, 1.0)], (0.0, 0.0)).unwrap() - 200.0).abs() < 1e-9);
        assert!((mean_wait(0.008, &[(100.0, 1.0)], (10.0, 100.0)).unwrap() - 205.0).abs() < 1e-9);
        assert_eq!(mean_wait(0.01, &[(100.0, 1.0)], (0.0, 0.0)), None);
    }
}
