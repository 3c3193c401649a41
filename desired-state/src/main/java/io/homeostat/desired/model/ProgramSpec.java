package io.homeostat.desired.model;

import org.jspecify.annotations.Nullable;

/** A kind of workload that is a program on this host, launched by us. */
public interface ProgramSpec extends WorkloadSpec {
    Program program();

    @Override
    default @Nullable ProgramUser runsAs() {
        return program().runsAs();
    }

    @Override
    default String revision() {
        return program().revision();
    }

    @Override
    default @Nullable Source source() {
        return program().source();
    }
}
