// Integrals of e^(-lambda x) cos(omega x) from 0 to infinity by other libraries, one after the other on one thread. Compiled by the bench
// when it runs, once with -DBOOST and once with -DGSL.

#include <cmath>
#include <cstddef>

#ifdef BOOST
#include <boost/math/quadrature/ooura_fourier_integrals.hpp>

extern "C" int integrate(const double* lambda, const double* omega, std::size_t count, double tolerance, double* values) {
    boost::math::quadrature::ooura_fourier_cos<double> rule(tolerance);
    for (std::size_t i = 0; i < count; ++i) {
        const double rate = -lambda[i];
        values[i] = rule.integrate([rate](double x) { return std::exp(rate * x); }, omega[i]).first;
    }
    return 0;
}
#endif

#ifdef GSL
#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>

namespace {
double damped(double x, void* lambda) { return std::exp(-*static_cast<double*>(lambda) * x); }
}

// The tolerance is absolute. Returns the number of integrals that are reported as failed.
extern "C" int integrate(const double* lambda, const double* omega, std::size_t count, double tolerance, double* values) {
    const std::size_t limit = 1000;
    gsl_set_error_handler_off();
    gsl_integration_workspace* intervals = gsl_integration_workspace_alloc(limit);
    gsl_integration_workspace* cycles = gsl_integration_workspace_alloc(limit);
    gsl_integration_qawo_table* moments = gsl_integration_qawo_table_alloc(1.0, 1.0, GSL_INTEG_COSINE, 50);
    int failed = 0;
    for (std::size_t i = 0; i < count; ++i) {
        double rate = lambda[i];
        double error = 0.0;
        gsl_function f = {&damped, &rate};
        gsl_integration_qawo_table_set(moments, omega[i], 1.0, GSL_INTEG_COSINE);
        failed += gsl_integration_qawf(&f, 0.0, tolerance, limit, intervals, cycles, moments, &values[i], &error) != GSL_SUCCESS;
    }
    gsl_integration_qawo_table_free(moments);
    gsl_integration_workspace_free(cycles);
    gsl_integration_workspace_free(intervals);
    return failed;
}
#endif
