package io.homeostat.desired.model;

/** What a document declares of a workload, one record a kind. */
public sealed interface WorkloadSpec permits PluginSpec, ProcessSpec {
    Program program();
}
