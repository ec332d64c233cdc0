//! From the nodes of an expression to instructions.

use rarefy_kernels::longman::program::{MAX_SLOTS, Operation, ProgramShape, instruction};

use super::{Expression, Node};
use crate::error::{Error, Result};
use crate::longman::special::{AMOS_EPSILONS, BESSEL_EPSILONS};

/// A function of x and of parameters, as bytecode; see [`rarefy_kernels::longman::program`] for its layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    shape: ProgramShape,
    code: Vec<u32>,
    constants: Vec<f64>,
    parameters: Vec<String>,
    epsilons: f64,
    special: bool,
}

impl Program {
    /// Parses and compiles a text; its parameters are in the order of appearance.
    ///
    /// # Errors
    /// As [`Expression::parse`] and [`compile`](Self::compile).
    pub fn parse(text: &str) -> Result<Self> {
        Self::compile(&Expression::parse(text)?)
    }

    /// Compiles an expression: what does not depend on x first, each node once, slots reused as soon as they are free.
    ///
    /// # Errors
    /// An expression that needs more numbers at a time than a program has places for.
    pub fn compile(expression: &Expression) -> Result<Self> {
        let too_large = || {
            Error::invalid(
                "expression",
                "too large",
                format!("one that needs at most {MAX_SLOTS} numbers at a time"),
            )
        };
        let Expression {
            nodes,
            root,
            parameters,
        } = expression;
        let used = used(nodes, *root);
        let varies = varying(nodes);
        let constants: Vec<f64> = nodes
            .iter()
            .zip(&used)
            .filter_map(|(node, used)| match node {
                Node::Number(value) if *used => Some(*value),
                _ => None,
            })
            .collect();
        let fixed = 1 + parameters.len() + constants.len();
        let mut slots = Slots::new(fixed);
        let mut place = vec![0_usize; nodes.len()];
        let mut constant = 1 + parameters.len();
        for (i, node) in nodes.iter().enumerate() {
            match node {
                Node::Parameter(p) => place[i] = 1 + *p as usize,
                Node::Number(_) if used[i] => {
                    place[i] = constant;
                    constant += 1;
                }
                _ => {}
            }
        }
        let last = last_uses(nodes, &used, *root);
        let mut code = Vec::new();
        let mut prologue = 0;
        let (mut epsilons, mut special) = (4.0_f64, false);
        for body in [false, true] {
            for (i, node) in nodes.iter().enumerate() {
                let &Node::Apply(operation, a, b) = node else {
                    continue;
                };
                if !used[i] || varies[i] != body {
                    continue;
                }
                special |= operation.code() >= Operation::FIRST_SPECIAL;
                epsilons = epsilons.max(accuracy(operation));
                let (a, b) = (a as usize, b as usize);
                let operands = [place[a], place[b]];
                // Values of the prologue live on through all evaluations; those of the body free their slots.
                for operand in [a, b] {
                    if body && varies[operand] && last[operand] == i {
                        slots.free(place[operand]);
                    }
                }
                place[i] = slots.take();
                let byte = |slot: usize| u8::try_from(slot).map_err(|_| too_large());
                code.push(instruction(
                    operation,
                    byte(place[i])?,
                    byte(operands[0])?,
                    byte(operands[1])?,
                ));
            }
            if !body {
                prologue = code.len();
            }
        }
        let count = |n: usize| u32::try_from(n).map_err(|_| too_large());
        if slots.most > MAX_SLOTS as usize {
            return Err(too_large());
        }
        Ok(Self {
            shape: ProgramShape {
                parameters: count(parameters.len())?,
                constants: count(constants.len())?,
                prologue: count(prologue)?,
                length: count(code.len())?,
                slots: count(slots.most)?,
                result: count(place[*root as usize])?,
            },
            code,
            constants,
            parameters: parameters.clone(),
            epsilons,
            special,
        })
    }

    /// Sizes.
    pub fn shape(&self) -> ProgramShape {
        self.shape
    }

    /// Instructions.
    pub fn code(&self) -> &[u32] {
        &self.code
    }

    /// Constants, whose slots follow those of the parameters.
    pub fn constants(&self) -> &[f64] {
        &self.constants
    }

    /// Names of the parameters, in the order of their slots.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Accuracy of a value in units of the machine epsilon: 4, more with special functions.
    pub fn epsilons(&self) -> f64 {
        self.epsilons
    }

    /// Whether kernels have all of its operations.
    pub fn runs_on_a_device(&self) -> bool {
        !self.special
    }

    /// Whether it may have steps or kinks, which the fixed rules of kernels may overlook.
    pub fn may_have_steps(&self) -> bool {
        const STEPS: [Operation; 5] = [
            Operation::Sign,
            Operation::Floor,
            Operation::Magnitude,
            Operation::Minimum,
            Operation::Maximum,
        ];
        let body = self.code.get(self.shape.prologue as usize..);
        let steps = |word: &u32| STEPS.iter().any(|step| step.code() == word & 0xFF);
        body.unwrap_or_default().iter().any(steps)
    }
}

/// Contribution of a special function to the error of a value, in units of the machine epsilon.
fn accuracy(operation: Operation) -> f64 {
    match operation {
        Operation::BesselJ | Operation::AiryAi => BESSEL_EPSILONS,
        Operation::BesselY | Operation::BesselI | Operation::BesselK => AMOS_EPSILONS,
        Operation::Gamma | Operation::Erfc => 16.0,
        _ => 4.0,
    }
}

/// Whether the root needs each node.
pub(super) fn used(nodes: &[Node], root: u32) -> Vec<bool> {
    let mut used = vec![false; nodes.len()];
    used[root as usize] = true;
    for i in (0..nodes.len()).rev() {
        if let (true, Node::Apply(_, a, b)) = (used[i], nodes[i]) {
            used[a as usize] = true;
            used[b as usize] = true;
        }
    }
    used
}

/// Whether each node depends on x.
pub(super) fn varying(nodes: &[Node]) -> Vec<bool> {
    let mut varying = vec![false; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        varying[i] = match *node {
            Node::X => true,
            Node::Apply(_, a, b) => varying[a as usize] || varying[b as usize],
            Node::Number(_) | Node::Parameter(_) => false,
        };
    }
    varying
}

/// The node that uses each node last; beyond all for the root.
fn last_uses(nodes: &[Node], used: &[bool], root: u32) -> Vec<usize> {
    let mut last = vec![0; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        if let (true, Node::Apply(_, a, b)) = (used[i], node) {
            last[*a as usize] = i;
            last[*b as usize] = i;
        }
    }
    last[root as usize] = usize::MAX;
    last
}

/// Slots behind the fixed ones, handed out and taken back.
struct Slots {
    fixed: usize,
    free: Vec<usize>,
    most: usize,
}

impl Slots {
    fn new(fixed: usize) -> Self {
        Self {
            fixed,
            free: Vec::new(),
            most: fixed,
        }
    }

    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.most += 1;
            self.most - 1
        })
    }

    /// Takes a slot back, once; fixed ones stay.
    fn free(&mut self, slot: usize) {
        if slot >= self.fixed && !self.free.contains(&slot) {
            self.free.push(slot);
        }
    }
}
