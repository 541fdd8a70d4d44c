"""Building blocks of all dashboards with Grafana's SDK: queries, lines, bars, tables, variables, links.

A panel's description contains its formula, so that readers need not open the query. A series has the same name in every
panel, and Grafana colours by name, so a flow has one colour on a whole page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import common as shape
from grafana_foundation_sdk.builders import dashboard as board
from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from longhaul.orchestrator.live.grafana_links import DATASOURCE_UID

DATASOURCE = dashboard.DataSourceRef(type_val="prometheus", uid=DATASOURCE_UID)

# 60 s of samples every 10 ms. Grafana rounds the step, down by up to 1.75, and Prometheus refuses more than 11,000 points a series.
MOST_POINTS = 6000

# The service is scraped this often.
SCRAPE = "5s"

WIDTH = 24
FLOW = "{{flow}} {{cc}}"
LINK = "{{link}}"

Query = prometheus.Dataquery
Lines = timeseries.Panel


def query(expr: str, legend: str, ref: str = "A", least_step: str = "") -> Query:
    """A series over the time shown, with a minimum step."""
    made = prometheus.Dataquery().expr(expr).legend_format(legend).ref_id(ref).range().datasource(DATASOURCE)
    return made.interval(least_step) if least_step else made


def now(expr: str, ref: str = "A") -> Query:
    """Values at the end of the time shown, as rows."""
    made = prometheus.Dataquery().expr(expr).ref_id(ref).instant().datasource(DATASOURCE)
    return made.format(PromQueryFormat.TABLE)


def lifetimes(selector: str, within: str) -> tuple[str, str]:
    """When each run begins and ends, in milliseconds since 1970: a run exports its start once per second of its duration."""
    of_each = "max by (run) ({}_over_time(longhaul_run_start_seconds{{{}}}{}))"
    begins = f"1000 * {of_each.format('last', selector, within)}"
    return begins, f"{begins} + 1000 * {of_each.format('count', selector, within)}"


def of_flows(metric: str, selector: str, moved: str = "") -> str:
    """A metric of flows while each is active: the last value of a stopped flow is left out."""
    return f"{metric}{{{selector}}}{moved} and on (run, flow) longhaul_flow_active{{{selector}}}{moved}"


def lines(title: str, about: str, unit: str, *queries: Query, span: int = 12, height: int = 8) -> Lines:
    """A panel of quantities with a value at every time: each lasts until the next, or until the end of its series."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(DATASOURCE)
        .unit(unit)
        .span(span)
        .height(height)
        .max_data_points(MOST_POINTS)
        .draw_style(common.GraphDrawStyle.LINE)
        .line_interpolation(common.LineInterpolation.STEP_AFTER)
        .line_width(1)
        .fill_opacity(0)
        .show_points(common.VisibilityMode.NEVER)
        .span_nulls(False)
        .axis_soft_min(0)
        .color_scheme(board.FieldColor().mode(dashboard.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .legend(
            shape.VizLegendOptions()
            .show_legend(True)
            .display_mode(common.LegendDisplayMode.TABLE)
            .placement(common.LegendPlacement.BOTTOM)
            .calcs(["mean", "max", "lastNotNull"])
        )
        .tooltip(shape.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    )
    for one in queries:
        panel.with_target(one)
    return panel


def rates(title: str, about: str, unit: str, *queries: Query, span: int = 12, height: int = 8) -> Lines:
    """A panel of quantities over an interval: straight lines between values."""
    return lines(title, about, unit, *queries, span=span, height=height).line_interpolation(
        common.LineInterpolation.LINEAR
    )


def bars(title: str, about: str, unit: str, *queries: Query, span: int = 12, height: int = 8) -> Lines:
    """A panel of counts within each step."""
    return (
        lines(title, about, unit, *queries, span=span, height=height)
        .draw_style(common.GraphDrawStyle.BARS)
        .line_interpolation(common.LineInterpolation.LINEAR)
        .fill_opacity(80)
        .decimals(0)
        .legend(
            shape.VizLegendOptions()
            .show_legend(True)
            .display_mode(common.LegendDisplayMode.TABLE)
            .placement(common.LegendPlacement.BOTTOM)
            .calcs(["sum", "max"])
        )
    )


def dashed(panel: Lines, names: str, **more: Any) -> Lines:
    """Draw the series whose names match as dashes."""
    style = {"fill": "dash", "dash": [6, 6]}
    properties = [dashboard.DynamicConfigValue(id_val="custom.lineStyle", value=style)]
    properties += [dashboard.DynamicConfigValue(id_val=name, value=value) for name, value in more.items()]
    return panel.override_by_regexp(names, properties)


def logarithmic(panel: Lines) -> Lines:
    """A logarithmic axis to base 2: a window that doubles every RTT is a straight line."""
    return panel.scale_distribution(shape.ScaleDistributionConfig().type(common.ScaleDistribution.LOG).log(2))


def single(title: str, about: str, unit: str, expr: str, *, drawn: bool = True, decimals: int = 0) -> stat.Panel:
    """One number: the last value above its history, or a value over all the time shown."""
    of_end = prometheus.Dataquery().expr(expr).ref_id("A").instant().datasource(DATASOURCE)
    return (
        stat.Panel()
        .title(title)
        .description(about)
        .datasource(DATASOURCE)
        .unit(unit)
        .decimals(decimals)
        .span(4)
        .height(4)
        .no_value("none")
        .color_mode(common.BigValueColorMode.NONE)
        .graph_mode(common.BigValueGraphMode.AREA if drawn else common.BigValueGraphMode.NONE)
        .reduce_options(shape.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(query(expr, "", least_step=SCRAPE) if drawn else of_end)
    )


def rows(
    title: str, about: str, columns: Sequence[tuple[str, str, str]], *queries: Query, height: int = 8
) -> table.Panel:
    """A table of columns, each with a field, a title and a unit, in order; other fields are not shown.

    Rows of several queries with equal labels are joined.
    """
    order = {field: position for position, (field, _, _) in enumerate(columns)}
    titles = {field: name for field, name, _ in columns}
    panel = (
        table.Panel()
        .title(title)
        .description(about)
        .datasource(DATASOURCE)
        .span(WIDTH)
        .height(height)
        .align(common.FieldTextAlignment.AUTO)
        .filterable(True)
        .with_transformation(dashboard.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(
            dashboard.DataTransformerConfig(
                id_val="organize",
                options={
                    "includeByName": dict.fromkeys(order, True),
                    "excludeByName": {"Time": True},
                    "indexByName": order,
                    "renameByName": titles,
                },
            )
        )
    )
    for _, name, unit in columns:
        if unit:
            panel.override_by_name(name, [dashboard.DynamicConfigValue(id_val="unit", value=unit)])
    for one in queries:
        panel.with_target(one)
    return panel


def linked(panel: table.Panel, column: str, title: str, url: str) -> table.Panel:
    """Make a column's cells links."""
    link = {"title": title, "url": url, "targetBlank": False}
    return panel.override_by_name(column, [dashboard.DynamicConfigValue(id_val="links", value=[link])])


def choice(name: str, label: str, values: str, about: str, *, many: bool = False, pattern: str = "") -> Any:
    """A variable with values from Prometheus; with `many`, all are chosen initially."""
    variable = (
        board.QueryVariable(name)
        .label(label)
        .description(about)
        .datasource(DATASOURCE)
        .query({"query": values, "refId": name})
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
        .regex(pattern)
    )
    if not many:
        return variable
    everything = dashboard.VariableOption(text="All", value="$__all", selected=True)
    return variable.multi(True).include_all(True).all_value(".+").current(everything)


def experiments() -> Any:
    """The variable `experiment`."""
    about = "Experiments with runs in the time shown."
    return choice("experiment", "Experiment", "label_values(longhaul_run_info, experiment)", about)


def hidden(name: str, values: str, about: str, pattern: str = "") -> Any:
    """A variable that users do not choose."""
    return choice(name, name, values, about, pattern=pattern).hide(dashboard.VariableHide.HIDE_VARIABLE)


def stretch() -> Any:
    """The variable `window`: the interval of rates; by default a hundredth of the time shown."""
    automatic = dashboard.VariableOption(text="auto", value="$__auto_interval_window", selected=True)
    return (
        board.IntervalVariable("window")
        .label("Rates over")
        .description("The interval of goodput, throughput, drops and retransmits.")
        .values("100ms,500ms,1s,5s,30s")
        .auto(True)
        .step_count(100)
        .min_interval("100ms")
        .current(automatic)
    )


class Marks(dashboard.AnnotationQuery):
    """Annotations from series. The SDK has only Grafana's own annotations; these fields are those of the Prometheus data source."""

    def __init__(self, name: str, color: str, expr: str, text: str, *, step: str, shown: bool = True) -> None:
        super().__init__(name=name, datasource=DATASOURCE, enable=shown, icon_color=color, expr=expr, built_in=0)
        self.source = {"step": step, "titleFormat": name, "textFormat": text, "tagKeys": "", "useValueForTime": False}

    def build(self) -> Marks:
        return self

    def to_json(self) -> dict[str, object]:
        return super().to_json() | self.source


def dashboard_link(title: str, url: str, about: str, *, keep_time: bool = False) -> Any:
    """A link at the top of a page."""
    link = (
        board.DashboardLink(title).type(dashboard.DashboardLinkType.LINK).url(url).tooltip(about).icon("external link")
    )
    return link.keep_time(keep_time)
