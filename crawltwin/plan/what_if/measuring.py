"""How the numbers that no log tells can be measured."""

HOW_TO_MEASURE = {
    "service_mean": (
        "Time the indexer on a thousand pages of the crawl while it has work all the time, and divide. Or divide the "
        "bytes by that time and give --processing-rate."
    ),
    "obsolescence_mean": (
        "Fetch a sample of pages again after an hour, a day, a week, and note which have changed; or decide how old "
        "a page may be when it is indexed."
    ),
    "capacity": (
        "It is the number of pages that the queue in front of the indexer may hold before pages are dropped, and one "
        "for the page being indexed."
    ),
}
"""In words, by the names of the settings."""
