//! Where floating point fails and exact digits do not: figures 2 and 3 of Otsokov and Magomedov (2020).
//!
//! Writes `figure_2.csv` and `figure_3.csv` into the folder that is given, or here.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use rarefy::Backend;
use rarefy::signed_digit::decimal;
use rarefy::signed_digit::dft::Transform;
use rarefy::signed_digit::introduction::{
    VECTORS_DOT, dot_error, sequence, transform_error, vectors,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let backend = Backend::Auto.resolve()?;

    // Six terms of which four cancel: the dot product is 8779 for every beta.
    let mut table = File::create(folder.join("figure_2.csv"))?;
    writeln!(table, "beta,f32_percent,f64_percent,exact")?;
    for beta in 1..=21 {
        let [x, y] = vectors(1, beta);
        let exact = decimal::dot(&x, &y, &backend)?;
        assert_eq!(exact, VECTORS_DOT.into());
        writeln!(
            table,
            "{beta},{:e},{:e},{exact}",
            dot_error::<f32>(&x, &y),
            dot_error::<f64>(&x, &y)
        )?;
    }

    // A transform and its inverse, which should give back what went in.
    let transform = Transform::new(16, 30)?;
    let mut table = File::create(folder.join("figure_3.csv"))?;
    writeln!(
        table,
        "lg_alpha,f32_percent,f64_percent,exact_sums_30_digits_percent"
    )?;
    for alpha in 0..=20 {
        let x = sequence(16, alpha);
        let y = transform.forward(&x, &backend)?;
        let error = 100.0 * transform.inverse(&y, &backend)?.relative_error(&x);
        writeln!(
            table,
            "{alpha},{:e},{:e},{error:e}",
            transform_error::<f32>(&x),
            transform_error::<f64>(&x)
        )?;
    }
    println!("figure_2.csv and figure_3.csv are in {}", folder.display());
    Ok(())
}
