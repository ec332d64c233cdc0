//! Grids about solids: surfaces, volumes and closed cells.

use std::f64::consts::PI;

use super::*;
use crate::flow::level::Beyond;
use crate::flow::section::tests::cuboid;
use crate::flow::space::Obstacle;
use crate::flow::volume::vector::{cross, dot, minus, norm, plus};
use crate::flow::volume::{Surface, VoxelWall};
use crate::flow::{Body, Shape, Stl, VoxelSamples, Voxels};

fn uniform(low: f64, high: f64, cells: usize) -> Vec<f64> {
    (0..=cells)
        .map(|k| low + (high - low) * k as f64 / cells as f64)
        .collect()
}

fn cube(half: f64, cells: usize) -> [Vec<f64>; 3] {
    [0, 1, 2].map(|_| uniform(-half, half, cells))
}

fn body(text: &str) -> Body {
    toml::from_str(text).expect("a body")
}

/// A body of a shape in which a test has put the contents of its file.
fn body_of(shape: Shape) -> Body {
    Body {
        shape,
        ..body("shape = \"sphere\"\nradius = 1.0")
    }
}

fn solids(bodies: &[Body]) -> Solids {
    Solids {
        solids: bodies.iter().map(Solid::new).collect(),
        shifts: vec![[0.0; 3]],
    }
}

fn sphere(centre: [f64; 3], radius: f64) -> Body {
    body(&format!(
        "shape = \"sphere\"\ncentre = {centre:?}\nradius = {radius:?}"
    ))
}

fn built(edges: [Vec<f64>; 3], bodies: &[Body]) -> Space {
    let space = build(edges, &solids(bodies)).expect("a grid");
    check(&space);
    space
}

/// Sum of the area vectors of the faces and the facet of a cell.
fn gap(space: &Space, cell: usize) -> f64 {
    let open = space.open[cell];
    let mut sum = [0, 1, 2].map(|axis| open[2 * axis + 1] - open[2 * axis]);
    if let Some(facet) = space.facets.get(space.facet[cell] as usize) {
        sum = plus(sum, -facet.area, facet.normal);
    }
    norm(sum)
}

/// Checks that cells are closed and share their faces, and that centroids and facets are in their cells.
fn check(space: &Space) {
    let counts = space.counts();
    let strides = [1, counts[0], counts[0] * counts[1]];
    assert_eq!(space.facets.len(), space.closures.len());
    for cell in 0..space.len() {
        let place = [0, 1, 2].map(|axis| cell / strides[axis] % counts[axis]);
        let ends = [0, 1, 2].map(|axis| {
            let edges = &space.edges[axis];
            [edges[place[axis]], edges[place[axis] + 1]]
        });
        let [x, y, z] = ends.map(|[low, high]| high - low);
        let face = (y * z).max(z * x).max(x * y);
        assert!(
            gap(space, cell) <= 1e-12 * face,
            "{cell}: {}",
            gap(space, cell)
        );
        for axis in 0..3 {
            if place[axis] + 1 < counts[axis] {
                let beyond = space.open[cell + strides[axis]][2 * axis];
                assert_eq!(space.open[cell][2 * axis + 1], beyond, "{cell} {axis}");
            }
            let [low, high] = ends[axis];
            let x = space.centroid[cell][axis];
            assert!(x > low && x < high, "{cell} {axis}: {x}, {low} to {high}");
        }
        let has_facet = space.facet[cell] != u32::MAX;
        assert_eq!(has_facet, space.kind[cell] == Kind::Cut);
        assert_eq!(space.volume[cell] > 0.0, space.is_gas(cell));
        if has_facet {
            let facet = &space.facets[space.facet[cell] as usize];
            assert_eq!(facet.cell, cell);
            assert!((norm(facet.normal) - 1.0).abs() < 1e-12);
            assert!((3..=6).contains(&facet.corners.len()));
            for point in facet.corners.iter().chain([&facet.point]) {
                let within = |axis: usize| {
                    let margin = 1e-12 * (1.0 + ends[axis][1].abs());
                    point[axis] >= ends[axis][0] - margin && point[axis] <= ends[axis][1] + margin
                };
                assert!((0..3).all(within), "{cell}: {point:?}");
            }
            check_order(facet, face);
        }
    }
}

/// Checks that the corners go round the normal, to the digits of a face's area.
fn check_order(facet: &Facet, face: f64) {
    let mut twice = [0.0; 3];
    for (k, a) in facet.corners.iter().enumerate() {
        let b = facet.corners[(k + 1) % facet.corners.len()];
        twice = plus(
            twice,
            0.5,
            cross(minus(*a, facet.point), minus(b, facet.point)),
        );
    }
    let off = norm(plus(twice, -facet.area, facet.normal));
    assert!(off < 1e-13 * face, "{facet:?}: {off}");
}

/// Area of the walls, their area as seen along x, and volume of what is not gas.
fn sizes(space: &Space) -> [f64; 3] {
    let surface = space.facets.iter().map(|facet| facet.area).sum();
    let along = |facet: &Facet| (facet.area * facet.normal[0]).max(0.0);
    let frontal = space.facets.iter().map(along).sum();
    let ends = space
        .edges
        .iter()
        .map(|edges| edges[edges.len() - 1] - edges[0]);
    let whole: f64 = ends.product();
    [surface, frontal, whole - space.volume.iter().sum::<f64>()]
}

fn relative<const N: usize>(found: [f64; N], exact: [f64; N]) -> [f64; N] {
    std::array::from_fn(|k| found[k] / exact[k] - 1.0)
}

const BALL: [f64; 3] = [PI, PI / 4.0, PI / 6.0];

#[test]
fn a_sphere_has_its_sizes_at_second_order() {
    for (cells, bounds) in [
        (8, [1.6e-2, 1.7e-2, 3.2e-2]),
        (16, [4e-3, 4.2e-3, 8e-3]),
        (32, [1e-3, 1.1e-3, 2e-3]),
    ] {
        let h = 1.0 / f64::from(cells);
        let centre = [0.31 * h, 0.12 * h, 0.77 * h];
        let edges = cube(0.75, (1.5 / h) as usize);
        let off = relative(sizes(&built(edges, &[sphere(centre, 0.5)])), BALL);
        for (off, bound) in off.into_iter().zip(bounds) {
            assert!(off < 0.0 && off > -bound, "{cells}: {off} {bound}");
        }
    }
}

#[test]
fn a_sphere_keeps_its_sizes_wherever_it_lies() {
    let h = 1.0 / 16.0;
    let random = (1..=16).map(|k: u32| {
        // Fractions of multiples of square roots are even over the cell.
        let part = |root: f64| (f64::from(k) * root).fract() * h;
        [
            part(2.0_f64.sqrt()),
            part(3.0_f64.sqrt()),
            part(5.0_f64.sqrt()),
        ]
    });
    let near = [0.0, 1e-7, 1e-3, 0.5].map(|shift| [shift * h, 0.0, 0.5 * shift * h]);
    for centre in random.chain(near) {
        let off = relative(sizes(&built(cube(0.75, 24), &[sphere(centre, 0.5)])), BALL);
        for (off, bound) in off.into_iter().zip([5e-3, 8e-3, 1e-2]) {
            assert!(off < 0.0 && off > -bound, "{centre:?}: {off}");
        }
    }
}

#[test]
fn a_box_on_lines_is_exact_and_a_turned_one_nearly() {
    let aligned = body("shape = \"box\"\nsize = [1.0, 0.5, 0.75]");
    let exact = [2.0 * (0.5 + 0.75 + 0.375), 0.375, 0.375];
    let space = built(cube(1.0, 16), std::slice::from_ref(&aligned));
    let off = relative(sizes(&space), exact);
    assert!(off.iter().all(|off| off.abs() < 1e-7), "{off:?}");
    // One facet cuts off the edges that pass through a cell.
    let turned =
        body("shape = \"box\"\ncentre = [0.01, 0.02, 0.03]\nsize = [1.0, 0.5, 0.75]\nangle = 30.0");
    let exact = [exact[0], 0.75 * (0.5 + 0.5 * 0.75_f64.sqrt()), exact[2]];
    let lines = Solid::new(&turned).lines();
    for cells in [16, 32, 64] {
        let h = 2.0 / f64::from(cells);
        let off = relative(
            sizes(&built(
                cube(1.0, cells as usize),
                std::slice::from_ref(&turned),
            )),
            exact,
        );
        let edges = [0, 1, 2]
            .map(|k| crate::flow::space::edges([-1.0, 1.0], [-1.0, 1.0], h, 1.0, 1.0, &lines[k]));
        let on_lines = relative(sizes(&built(edges, std::slice::from_ref(&turned))), exact);
        assert!(off.iter().all(|off| off.abs() < h), "{off:?}");
        assert!(on_lines.iter().all(|off| off.abs() < 1e-8), "{on_lines:?}");
    }
    let lines = Solid::new(&aligned).lines();
    assert_eq!(
        lines,
        [
            vec![-0.5, 0.5, 0.5, -0.5],
            vec![-0.25, -0.25, 0.25, 0.25],
            vec![-0.375, 0.375]
        ]
    );
}

#[test]
fn a_plate_thinner_than_a_cell_and_gaps_narrower_than_one() {
    let h = 0.1;
    let plate = body("shape = \"box\"\ncentre = [0.003, 0.002, 0.001]\nsize = [1.1, 0.05, 1.1]");
    let space = built(cube(1.0, 20), std::slice::from_ref(&plate));
    let off = relative(sizes(&space), [2.64, 0.055, 0.0605]);
    assert!(off.iter().all(|off| off.abs() < 0.12), "{off:?}");
    let lines = Solid::new(&plate).lines();
    let edges = [0, 1, 2]
        .map(|k| crate::flow::space::edges([-1.0, 1.0], [-1.0, 1.0], h, 1.0, 1.0, &lines[k]));
    let off = relative(
        sizes(&built(edges, std::slice::from_ref(&plate))),
        [2.64, 0.055, 0.0605],
    );
    assert!(off.iter().all(|off| off.abs() < 1e-6), "{off:?}");
    // Between the lines no corner is in it.
    let unseen = body("shape = \"box\"\ncentre = [0.0, 0.05, 0.0]\nsize = [1.0, 0.05, 1.0]");
    let error = build(cube(1.0, 20), &solids(&[unseen])).expect_err("no cell");
    assert!(
        error.to_string().contains("body 1: no cell is cut by it"),
        "{error}"
    );
    for shift in 0..8 {
        let x = 0.01 * f64::from(shift);
        let pair = [
            sphere([x - 0.4 - 0.25 * h, 0.03, 0.01], 0.4),
            sphere([x + 0.4 + 0.25 * h, 0.03, 0.01], 0.4),
        ];
        let space = built(cube(1.0, 20), &pair);
        let off = relative(
            sizes(&space),
            [2.0 * PI * 0.64, 2.0 * PI * 0.16, PI / 3.0 * 0.512],
        );
        assert!(off.iter().all(|off| off.abs() < 0.12), "{off:?}");
        let bodies = space.facets.iter().filter(|facet| facet.body == 0).count();
        assert!(bodies.abs_diff(space.facets.len() - bodies) < 60);
    }
}

#[test]
fn an_extruded_circle_is_that_of_the_plane() {
    let text = "shape = \"circle\"\ncentre = [0.013, 0.007]\nradius = 0.5";
    let bodies = crate::flow::space::Bodies {
        obstacles: vec![Obstacle::new(&body(text))],
        shifts: vec![[0.0; 2]],
    };
    let (x, z) = (uniform(-1.0, 1.0, 30), vec![0.0, 0.08, 0.2]);
    let plane = crate::flow::space::build(x.clone(), x.clone(), &bodies).expect("a plane");
    let space = built([x.clone(), x, z.clone()], &[body(text)]);
    assert!(space.warnings.is_empty());
    for cell in 0..space.len() {
        let (of_plane, layer) = (cell % plane.len(), cell / plane.len());
        let depth = z[layer + 1] - z[layer];
        assert_eq!(space.kind[cell], plane.kind[of_plane]);
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{cell}: {a} {b}");
        let area = plane.volume[of_plane];
        same(space.volume[cell], area * depth);
        for k in 0..4 {
            same(space.open[cell][k], plane.open[of_plane][k] * depth);
        }
        same(space.open[cell][4], area);
        same(space.open[cell][5], area);
        if space.is_gas(cell) {
            let [x, y, z_here] = space.centroid[cell];
            same(x, plane.centroid[of_plane][0]);
            same(y, plane.centroid[of_plane][1]);
            same(z_here, z[layer] + 0.5 * depth);
        }
        if space.kind[cell] == Kind::Cut {
            let facet = &space.facets[space.facet[cell] as usize];
            let segment = &plane.segments[plane.first[of_plane]];
            same(facet.area, segment.length * depth);
            same(facet.point[0], segment.point[0]);
            same(facet.point[1], segment.point[1]);
            assert!(facet.normal[2].abs() < 1e-9);
        }
    }
}

fn stl(surface: Surface) -> Body {
    body_of(Shape::Stl(Stl {
        file: "none.stl".into(),
        scale: 1.0,
        origin: [0.0; 3],
        surface: Some(surface),
    }))
}

/// Triangles of a sphere of the radius 1/2: a cube's faces of `n` by `n` squares, put onto it.
fn ball(n: u32) -> Vec<[[f32; 3]; 3]> {
    let mut triangles = Vec::new();
    let at = |axis: usize, side: f64, [u, v]: [u32; 2]| {
        let place = |k: u32| (0.5 * PI * (f64::from(k) / f64::from(n) - 0.5)).tan();
        let mut p = [side; 3];
        p[(axis + 1) % 3] = place(u);
        p[(axis + 2) % 3] = place(v) * side;
        // Equal on the faces that share it.
        let long = norm(p);
        p.map(|x| ((0.5 * x / long * 1e6).round() / 1e6) as f32)
    };
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            for k in 0..n * n {
                let [u, v] = [k % n, k / n];
                let corner = |a: u32, b: u32| at(axis, side, [u + a, v + b]);
                let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
    }
    triangles
}

#[test]
fn surfaces_of_triangles_are_their_solids() {
    let surface = Surface::new(
        &cuboid([-0.5, -0.3, -0.4], [0.5, 0.3, 0.4]),
        1.0,
        [0.01, 0.0, 0.0],
    );
    let text = "shape = \"box\"\ncentre = [0.01, 0.0, 0.0]\nsize = [1.0, 0.6, 0.8]";
    let found = sizes(&built(cube(1.0, 25), &[stl(surface.expect("a cube"))]));
    let exact = sizes(&built(cube(1.0, 25), &[body(text)]));
    let off = relative(found, exact);
    // Corners of the file have the digits of f32.
    assert!(off.iter().all(|off| off.abs() < 1e-6), "{off:?}");

    let surface = Surface::new(&ball(24), 1.0, [0.02, 0.01, 0.03]).expect("a ball");
    let found = sizes(&built(cube(0.75, 24), &[stl(surface)]));
    let exact = sizes(&built(cube(0.75, 24), &[sphere([0.02, 0.01, 0.03], 0.5)]));
    let off = relative(found, exact);
    assert!(off.iter().all(|off| off.abs() < 3e-3), "{off:?}");
}

#[test]
fn cells_about_many_solids_are_closed() {
    // A row of numbers that fill the interval from 0 to 1 evenly.
    let mut count = 0_u32;
    let mut number = || {
        count += 1;
        (f64::from(count) * 0.618_033_988_749_894_9 + f64::from(count / 7) * 0.324_717_957_244_746)
            .fract()
    };
    let mut grids = 0;
    for _ in 0..60 {
        let mut point = || [(); 3].map(|()| 1.6 * number() - 0.8);
        let [a, b, c, d, e] = [(); 5].map(|()| point());
        let mut radius = || 0.05 + 0.4 * number();
        let bodies = [
            body(&format!(
                "shape = \"cylinder\"\nends = [{a:?}, {b:?}]\nradius = {:?}",
                radius()
            )),
            body(&format!(
                "shape = \"cone\"\nends = [{b:?}, {c:?}]\nradii = [0.0, {:?}]",
                radius()
            )),
            body(&format!(
                "shape = \"box\"\ncentre = {d:?}\nsize = [{:?}, {:?}, {:?}]\nangle = {:?}",
                radius(),
                radius(),
                radius(),
                90.0 * radius()
            )),
            sphere(e, radius()),
        ];
        let mut edges = cube(1.0, 14);
        // Wide cells beside narrow ones.
        edges[0] = crate::flow::space::edges([-1.0, 1.0], [-0.2, 0.2], 0.03, 1.3, 0.3, &[]);
        match build(edges, &solids(&bodies)) {
            Ok(space) => {
                check(&space);
                grids += 1;
            }
            Err(error) => assert!(error.to_string().contains("no cell is cut"), "{error}"),
        }
    }
    assert!(grids > 30, "{grids}");
}

#[test]
fn cylinders_and_cones_have_their_sizes() {
    let axis = [[-0.5, 0.11, -0.32], [0.43, 0.23, 0.41]];
    let length = norm(minus(axis[1], axis[0]));
    let cylinder = format!("shape = \"cylinder\"\nends = {axis:?}\nradius = 0.3");
    let cone = format!("shape = \"cone\"\nends = {axis:?}\nradii = [0.4, 0.1]");
    let side = PI * 0.5 * length.hypot(0.3);
    for (text, surface, volume) in [
        (cylinder, PI * (0.6 * length + 0.18), PI * 0.09 * length),
        (cone, side + PI * 0.17, PI / 3.0 * 0.21 * length),
    ] {
        let [found, _, inside] = sizes(&built(cube(1.0, 50), &[body(&text)]));
        let off = relative([found, inside], [surface, volume]);
        assert!(
            off.iter().all(|off| *off < 0.0 && *off > -3e-2),
            "{text}: {off:?}"
        );
    }
}

#[cfg(feature = "files")]
#[test]
fn files_hold_surfaces_and_voxels() {
    use std::fmt::Write;

    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let text = |triangles: &[[[f32; 3]; 3]]| {
        let mut text = "solid\n".to_owned();
        for triangle in triangles {
            text.push_str("facet normal 0 0 0\n outer loop\n");
            for [x, y, z] in triangle {
                writeln!(text, "  vertex {x} {y} {z}").expect("a line");
            }
            text.push_str(" endloop\nendfacet\n");
        }
        text + "endsolid\n"
    };
    let mut triangles = cuboid([-50.0, -30.0, 0.0], [50.0, 30.0, 7.0]);
    let file = write("box.stl", text(&triangles).as_bytes());
    let mut shape = body(&format!(
        "shape = \"stl\"\nfile = {file:?}\nscale = 0.01\norigin = [1.0, 0.0, 0.0]"
    ))
    .shape;
    shape.read().expect("a surface");
    let [low, high] = shape.bounds_in_space();
    assert!(
        norm(minus(low, [0.5, -0.3, 0.0])) < 1e-12 && norm(minus(high, [1.5, 0.3, 0.07])) < 1e-12
    );
    triangles[4].swap(0, 1);
    let file = write("turned.stl", text(&triangles).as_bytes());
    let error = body(&format!("shape = \"stl\"\nfile = {file:?}"))
        .shape
        .read();
    let error = error
        .expect_err("a surface that is not oriented")
        .to_string();
    assert!(
        error.contains("turned.stl: the surface turns inside out at the edge from"),
        "{error}"
    );

    let mut head = "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3, 4), }".to_owned();
    while !(head.len() + 11).is_multiple_of(64) {
        head.push(' ');
    }
    head.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.bytes());
    bytes.extend((0..24).map(|k| u8::from(k % 4 == 0)));
    let file = write("voxels.npy", &bytes);
    let mut shape = body(&format!(
        "shape = \"voxels\"\nfile = {file:?}\nspacing = 0.5"
    ))
    .shape;
    shape.read().expect("voxels");
    let Shape::Voxels(voxels) = &mut shape else {
        panic!("{shape:?}");
    };
    assert_eq!(
        voxels.samples.as_ref().map(VoxelSamples::count),
        Some([4, 3, 2])
    );
    voxels.make_wall([Beyond::Gas; 3]).expect("a wall");
    assert_eq!(shape.bounds_in_space(), [[0.0; 3], [0.5, 1.5, 1.0]]);
}

/// Files of one mask, which VTK wrote; `ball.npy` has no place.
#[cfg(feature = "files")]
#[test]
fn images_of_vtk_are_voxels_at_their_place() {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let folder = std::path::Path::new(&root).join("tests/data/flow");
    let shape = |name: &str, keys: &str| {
        let file = folder.join(name);
        let text = format!("shape = \"voxels\"\nfile = {file:?}\n{keys}");
        let mut shape = body(&text).shape;
        shape.read().map(|()| {
            let Shape::Voxels(voxels) = &mut shape else {
                panic!("{shape:?}");
            };
            voxels.make_wall([Beyond::Gas; 3]).expect("a wall");
            shape
        })
    };
    let bounds = |name: &str, keys: &str| shape(name, keys).expect(name).bounds_in_space();
    let wall = |name: &str, keys: &str| match shape(name, keys).expect(name) {
        Shape::Voxels(voxels) => voxels.wall,
        other => panic!("{other:?}"),
    };
    let array = "origin = [-0.5, -0.4375, -0.375]\nspacing = 0.125";
    let array = wall("ball.npy", array);
    assert!(array.is_some());
    for (name, keys) in [
        ("ascii.vti", ""),
        ("binary-zlib.vti", ""),
        ("appended-base64.vti", ""),
        ("appended-raw-zlib.vti", "array = \"mask\""),
    ] {
        assert!(wall(name, keys) == array, "{name}");
        let [low, high] = bounds(name, keys);
        let twice = bounds(name, &format!("{keys}\nspacing = 0.25"));
        assert_eq!(twice, [low, high].map(|end| end.map(|x| 2.0 * x)), "{name}");
        let [first, _] = bounds(name, &format!("{keys}\norigin = [1, 2, 3]"));
        assert_eq!(first, [low[0] + 1.5, low[1] + 2.4375, low[2] + 3.375]);
    }
    for (name, keys, line) in [
        (
            "ball.npy",
            "spacing = 1\narray = \"mask\"",
            "array: mask; expected no key array with ",
        ),
        (
            "appended-raw-zlib.vti",
            "",
            "appended-raw-zlib.vti: the image has the arrays 'colour', 'pores', 'mask'",
        ),
    ] {
        let error = shape(name, keys).expect_err(name).to_string();
        assert!(error.contains(line), "{error}");
    }

    let other = tempfile::tempdir().expect("a folder");
    let good = std::fs::read_to_string(folder.join("ascii.vti")).expect("a text");
    for (from, to, line) in [
        (
            "Spacing=\"0.125 0.125 0.125\"",
            "Spacing=\"0.125 0.125 0.25\"",
            "its Spacing is 0.125 0.125 0.25; one width along all axes is needed",
        ),
        (
            "0 8 0 7 0 6",
            "0 336 0 1 0 1",
            "shape: (1, 1, 336); expected an array of three dimensions",
        ),
    ] {
        let path = other.path().join("scan.vti");
        std::fs::write(&path, good.replace(from, to)).expect("a file");
        let mut shape = body(&format!("shape = \"voxels\"\nfile = {path:?}")).shape;
        let error = shape.read().expect_err(line).to_string();
        assert!(error.contains(&format!("scan.vti: {line}")), "{error}");
    }
}

#[test]
fn a_ball_of_voxels_is_a_ball() {
    let (count, spacing) = (30, 0.04);
    let place = |k: usize| spacing * (k as f64 + 0.5) - 0.6;
    let solid = (0..count * count * count).map(|k| {
        let p = [k % count, k / count % count, k / (count * count)].map(place);
        norm(p) < 0.5
    });
    let samples = VoxelSamples::new([count; 3], solid.collect()).expect("voxels");
    let mut voxels = Voxels::new(samples, [-0.6; 3], spacing);
    voxels.make_wall([Beyond::Gas; 3]).expect("a wall");
    assert!(norm(voxels.wall.as_ref().map_or([9.0; 3], VoxelWall::centre)) < 1e-12);
    let off = relative(
        sizes(&built(cube(0.75, 30), &[body_of(Shape::Voxels(voxels))])),
        BALL,
    );
    assert!(off.iter().all(|off| off.abs() < 3e-2), "{off:?}");
}

#[test]
fn hollow_bodies_and_images_have_their_walls() {
    let mut room = body("shape = \"sphere\"\nradius = 0.7");
    room.hollow = true;
    let space = built(cube(1.0, 25), &[room]);
    let gas: f64 = space.volume.iter().sum();
    assert!((gas / (4.0 / 3.0 * PI * 0.343) - 1.0).abs() < 1e-2, "{gas}");
    let facet = &space.facets[0];
    assert!(dot(facet.normal, facet.point) < 0.0);
    // A ball across a periodic side has two halves.
    let mut bodies = solids(&[sphere([1.0, 0.01, 0.02], 0.4)]);
    bodies.shifts = vec![[-2.0, 0.0, 0.0], [0.0; 3], [2.0, 0.0, 0.0]];
    let halves = build(cube(1.0, 26), &bodies).expect("a grid");
    check(&halves);
    let whole = built(cube(1.0, 26), &[sphere([0.0, 0.01, 0.02], 0.4)]);
    let off = relative(sizes(&halves), sizes(&whole));
    assert!(off.iter().all(|off| off.abs() < 1e-9), "{off:?}");
}

#[test]
fn without_bodies_all_is_gas() {
    let space = built(cube(1.0, 5), &[]);
    assert!(space.kind.iter().all(|kind| *kind == Kind::Full));
}

#[test]
fn small_holes_are_filled_and_wide_ones_stay() {
    let ring = |inner: f64| {
        body(&format!(
            "shape = \"difference\"
            of = [{{ shape = \"sphere\", radius = 0.8 }}, {{ shape = \"sphere\", radius = {inner:?} }}]"
        ))
    };
    let gas = |space: &Space| space.volume.iter().sum::<f64>();
    let full = gas(&built(cube(1.0, 20), &[ring(1e-3)]));
    let small = built(cube(1.0, 20), &[ring(0.05)]);
    assert_eq!(gas(&small), full);
    assert!(small.warnings[0].starts_with("a hole of a few cells at (-0."));
    let wide = built(cube(1.0, 20), &[ring(0.3)]);
    assert!(wide.warnings.is_empty() && gas(&wide) > full + 0.1);
}

#[test]
fn a_domain_of_solid_alone_is_refused() {
    let error = build(cube(0.2, 6), &solids(&[sphere([0.0; 3], 1.0)])).expect_err("solid");
    assert!(
        error.to_string().contains("all of the domain is solid"),
        "{error}"
    );
}
