//! Types that may move to another thread, and types that threads may share: checked by the compiler.

use rarefy::bgk::{self, boltzmann, steady};
use rarefy::emulator::{self, Emulator, ThreadOrder};
use rarefy::gpu::{self, Device};
use rarefy::machine::{Grid, Limits, Machine};
use rarefy::memory_plan;
use rarefy::signed_digit::{decimal, dft, float, integer, paper};
use rarefy::{Backend, Error, Precision, collision, compute, isotropic, longman, run};

fn send<T: Send>() {}
fn shared<T: Send + Sync>() {}

macro_rules! each {
    ($check:ident: $($type:ty),* $(,)?) => { $($check::<$type>();)* };
}

#[test]
fn public_types_go_to_other_threads() {
    each! { shared:
        Backend, Precision, Error, compute::Resolved, Grid, Limits, memory_plan::Memory, memory_plan::HostMemory,
        Device, gpu::Event, gpu::Graph, gpu::DeviceBuffer<f64>, gpu::CudaVersion, gpu::doctor::DoctorReport, gpu::ptx::PtxModule,
        Emulator, ThreadOrder, emulator::Statistics, emulator::Fault,
    }
    each! { shared:
        collision::Moments, collision::Part, collision::VelocityGrid, collision::Scattering, collision::Method, collision::Order,
        collision::OperatorConfig, collision::Correction, collision::Evaluation, collision::Integrator, collision::Until,
        collision::RelaxationConfig, collision::Record, collision::Checkpoint, collision::CpuOperator<f64>,
        collision::coefficients::OrbitTable, collision::paper::DirectLists, collision::paper::DirectTasks,
        collision::initial::TwoMaxwellians, collision::initial::Bkw, collision::transport::Study,
        isotropic::Moments, isotropic::EnergyGrid, isotropic::Weights, isotropic::OperatorConfig, isotropic::Rates,
        isotropic::RelaxationConfig, isotropic::Record, isotropic::Checkpoint, isotropic::coefficients::Coefficients, isotropic::coefficients::PairTables,
        isotropic::market::TradeVolume, isotropic::market::Histogram, isotropic::market::MarketConfig, isotropic::market::Checkpoint, isotropic::initial::Equilibrium,
    }
    each! { shared:
        bgk::SimulationConfig, bgk::Checkpoint, bgk::Looked, bgk::Moments, bgk::Mach, bgk::Shock, bgk::ShockProfile, bgk::Boundaries, bgk::Wall,
        bgk::FaceFlux, bgk::DiscreteMaxwellian, bgk::Model, bgk::Gas, bgk::Units, bgk::Species, bgk::Cavity, bgk::CavityResults,
        bgk::State, bgk::Space, bgk::Problem, bgk::Scheme, bgk::Courant, bgk::VelocitySpace, bgk::quadrature::Rule, run::Ending, run::Goal, run::Now, run::Residual,
        steady::SteadyProblem, steady::SteadyConfig, steady::Exchange, steady::Solution, steady::Nodes,
        steady::plates::Resolution, steady::plates::Drive, steady::Checkpoint, boltzmann::FlowConfig, boltzmann::Stepping, boltzmann::Checkpoint, boltzmann::ShockWave, boltzmann::Look,
    }
    each! { shared:
        longman::Integral, longman::Settings, longman::Boundaries, longman::Oscillator, longman::Task, longman::Integrals<'_>,
        longman::expression::Function, longman::expression::Expression, longman::expression::Program, longman::family::Family,
        longman::accelerate::Accelerated, longman::sampled::Spline, longman::sampled::Chebyshev,
        longman::paper::PaperRule, longman::paper::AreaTable, longman::quadrature::Rule, longman::quadrature::Kronrod,
        longman::gpu::batch::BatchConfig, longman::gpu::batch::Outcome,
    }
    each! { shared:
        float::ExactAccumulator, float::ExactValue, float::ExactEngine, float::MachineAccumulator<'_, Device>,
        dft::Signal, dft::Spectrum, dft::Transform, integer::Integers, integer::TextLines, integer::Resident<Device>,
        integer::ResidentPair<Device>, decimal::Decimal, decimal::Total, paper::DigitSet, paper::SignedDigits, paper::Float,
        paper::ResidentDigits<Device>, paper::ResidentVectors<Device>,
    }
    // One thread at a time uses a state on a machine.
    each! { send:
        collision::Relaxation, collision::CollisionOperator, collision::transport::Linearised, isotropic::Relaxation, isotropic::market::Market, bgk::Simulation, bgk::March, boltzmann::Flow, steady::SteadySolver,
        emulator::Buffer<f32>, float::MachineAccumulator<'_, Emulator>, integer::Resident<Emulator>, integer::ResidentPair<Emulator>,
        paper::ResidentDigits<Emulator>, paper::ResidentVectors<Emulator>,
        bgk::paper::SeparateKernels<Device, f64>, bgk::paper::SeparateKernels<Emulator, f64>,
        longman::gpu::batch::Batch<'_, Device, f64>, longman::gpu::batch::Batch<'_, Emulator, f64>,
        longman::gpu::batch::Interpreted<Device, f64>, longman::gpu::batch::Interpreted<Emulator, f64>,
        longman::paper::FixedBatch<Device, f64>, longman::paper::FixedBatch<Emulator, f64>,

    }
}

/// Threads that share one machine, each with memory of its own.
#[track_caller]
fn sums_from_many_threads<M: Machine>(machine: &M) {
    std::thread::scope(|scope| {
        for k in 1..=8_u32 {
            scope.spawn(move || {
                for n in [3_u32, 5000] {
                    let x = vec![f64::from(k); n as usize];
                    let mut sum = float::MachineAccumulator::new(machine).unwrap();
                    sum.add(&machine.upload(&x).unwrap()).unwrap();
                    assert_eq!(sum.finish().unwrap().round::<f64>(), f64::from(n * k));
                }
            });
        }
    });
}

#[test]
fn threads_share_a_machine() {
    sums_from_many_threads(&Emulator::default());
    if let Some(device) = crate::support::device() {
        sums_from_many_threads(&device);
    }
}

#[test]
fn a_run_goes_on_in_another_thread() {
    for backend in [Backend::Cpu, Backend::Emulator] {
        let grid = collision::VelocityGrid::new(6, -4.0, 4.0).unwrap();
        let config = collision::OperatorConfig {
            compute: backend.into(),
            ..collision::OperatorConfig::paper(grid)
        };
        let mut here = collision::CollisionOperator::new(config.clone()).unwrap();
        let f = vec![1.0; grid.cells()];
        let expected = here.evaluate(&f).unwrap().rate;
        let there = std::thread::spawn(move || here.evaluate(&f).unwrap().rate);
        assert_eq!(there.join().unwrap(), expected);
    }
}
