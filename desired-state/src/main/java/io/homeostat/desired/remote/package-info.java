/** Gets published sets from where they are published: web servers, buckets and git repositories. */
@NullMarked
package io.homeostat.desired.remote;

import org.jspecify.annotations.NullMarked;
