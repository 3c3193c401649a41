package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;

/** Where {@link Kind#all} comes from. A provider has a row in {@code META-INF/services}. */
public interface KindProvider {
    ImmutableList<Kind> kinds();
}
